// Command oracle answers questions about CEL expressions with the code that kube-apiserver runs.
//
// It reads one JSON object per line and writes one JSON object per line. A question is
//
//	{"expr": "self.a > x", "vars": {"x": "int"}, "schema": {…}, "input": {…}, "mode": "parse"}
//
// where `schema` is a structural schema for `self`, `vars` declares more variables and `input` holds values. `oldSelf`
// is "value" or "optional" to declare this variable. With `"same": true` the environment is that of the question
// before, and with `"keep": true` so are the values. The answer has the members of type answer below. The program
// never ends because of a bad question.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/mutation"
)

type question struct {
	Expr   string              `json:"expr"`
	Bytes  []byte              `json:"bytes,omitempty"`
	Vars   map[string]string   `json:"vars,omitempty"`
	Schema *v1.JSONSchemaProps `json:"schema,omitempty"`
	// OldSelf says how `oldSelf` is declared: "value", "optional" or not at all.
	OldSelf string         `json:"oldSelf,omitempty"`
	Input   map[string]any `json:"input,omitempty"`
	Bind    bool           `json:"bind,omitempty"`
	// Patch declares the types of mutating admission policies: Object, JSONPatch.
	Patch bool   `json:"patch,omitempty"`
	Mode  string `json:"mode,omitempty"`
	Same  bool   `json:"same,omitempty"`
	Keep  bool   `json:"keep,omitempty"`
}

type answer struct {
	Issues  string  `json:"issues,omitempty"`
	Type    string  `json:"type,omitempty"`
	Program string  `json:"program,omitempty"`
	Min     *uint64 `json:"min,omitempty"`
	Max     *uint64 `json:"max,omitempty"`
	Value   any     `json:"value,omitempty"`
	Error   string  `json:"error,omitempty"`
	Cost    *uint64 `json:"cost,omitempty"`
	Panic   string  `json:"panic,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			encoded, _ := json.Marshal(answered(line))
			out.Write(encoded)
			out.WriteByte('\n')
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			out.Flush()
			return
		}
	}
}

func answered(line []byte) (result answer) {
	defer func() {
		if caught := recover(); caught != nil {
			result = answer{Panic: fmt.Sprint(caught)}
		}
	}()
	var q question
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&q); err != nil {
		return answer{Panic: err.Error()}
	}
	if q.Bytes != nil {
		q.Expr = string(q.Bytes)
	}
	return ask(q)
}

type prepared struct {
	env       *cel.Env
	self      *apiservercel.DeclType
	structure *schema.Structural
	vars      map[string]string
	oldSelf   string
	values    map[string]any
}

// last is the environment of the question before; making one takes longer than a question.
var last *prepared

func prepare(q question) (*prepared, error) {
	if q.Same && last != nil {
		return last, nil
	}
	made, err := newlyPrepared(q)
	last = made
	return made, err
}

func newlyPrepared(q question) (*prepared, error) {
	options := environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0)}
	made := &prepared{vars: q.Vars, oldSelf: q.OldSelf}
	if q.Schema != nil {
		var internal apiextensions.JSONSchemaProps
		if err := v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(q.Schema, &internal, nil); err != nil {
			return nil, err
		}
		structural, err := schema.NewStructural(&internal)
		if err != nil {
			return nil, err
		}
		made.structure = structural
		made.self = model.SchemaDeclType(structural, false).MaybeAssignTypeName("selfType")
		options.DeclTypes = append(options.DeclTypes, made.self)
		options.EnvOptions = append(options.EnvOptions, cel.Variable("self", made.self.CelType()))
		switch q.OldSelf {
		case "value":
			options.EnvOptions = append(options.EnvOptions, cel.Variable("oldSelf", made.self.CelType()))
		case "optional":
			options.EnvOptions = append(options.EnvOptions, cel.Variable("oldSelf", types.NewOptionalType(made.self.CelType())))
		}
	}
	for name, text := range q.Vars {
		t, rest, err := parseType(text)
		if err != nil || rest != "" {
			return nil, fmt.Errorf("bad type %q: %v", text, err)
		}
		options.EnvOptions = append(options.EnvOptions, cel.Variable(name, t))
	}
	if q.Bind {
		options.EnvOptions = append(options.EnvOptions, ext.Bindings(ext.BindingsVersion(0)))
	}
	if q.Patch {
		resolver := common.ResolverEnvOption(&mutation.DynamicTypeResolver{})
		options.EnvOptions = append(options.EnvOptions, resolver, environment.UnversionedLib(library.JSONPatch))
	}
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(options)
	if err != nil {
		return nil, err
	}
	made.env = set.StoredExpressionsEnv()
	return made, nil
}

func ask(q question) answer {
	made, err := prepare(q)
	if err != nil {
		return answer{Panic: err.Error()}
	}
	if q.Input != nil {
		made.values = activation(q, made)
	}
	if q.Mode == "parse" {
		if _, issues := made.env.Parse(q.Expr); issues != nil {
			return answer{Issues: issues.String()}
		}
		return answer{}
	}
	ast, issues := made.env.Compile(q.Expr)
	if issues != nil {
		return answer{Issues: issues.String()}
	}
	result := answer{Type: checker.FormatCELType(ast.OutputType())}
	estimator := &library.CostEstimator{SizeEstimator: &sizes{root: made.self}}
	if estimate, err := made.env.EstimateCost(ast, estimator); err != nil {
		result.Error = err.Error()
	} else {
		result.Min, result.Max = &estimate.Min, &estimate.Max
	}
	program, err := made.env.Program(ast, cel.CostTracking(estimator), cel.InterruptCheckFrequency(100))
	if err != nil {
		result.Program = err.Error()
		return result
	}
	if q.Input == nil && !q.Keep {
		return result
	}
	value, details, err := program.Eval(made.values)
	if details != nil && details.ActualCost() != nil {
		result.Cost = details.ActualCost()
	}
	if err != nil {
		result.Error = err.Error()
	} else {
		result.Value = show(value)
	}
	return result
}

// sizes takes sizes from the schema of `self`. As for rules of custom resources, the first step of a path is not
// looked at.
type sizes struct{ root *apiservercel.DeclType }

func (s *sizes) EstimateSize(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 || s.root == nil {
		return nil
	}
	at := s.root
	for _, step := range path[1:] {
		switch step {
		case "@items", "@values":
			at = at.ElemType
		case "@keys":
			at = at.KeyType
		default:
			field, ok := at.Fields[step]
			if !ok {
				return nil
			}
			at = field.Type
		}
		if at == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: uint64(at.MaxElements)}
}

func (s *sizes) EstimateCallCost(_, _ string, _ *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	return nil
}
