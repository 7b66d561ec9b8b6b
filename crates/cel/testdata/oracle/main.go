// Command oracle answers questions about CEL expressions with the code that kube-apiserver runs.
//
// It reads one JSON object per line and writes one JSON object per line. A question is
//
//	{"expr": "self.a > x", "vars": {"x": "int"}, "schema": {…}, "input": {…}, "mode": "parse"}
//
// where `schema` is a structural schema for `self`, `vars` declares more variables and `input` holds values. With
// `"same": true` the environment is that of the question before. The answer has the members of type answer below.
// The program never ends because of a bad question.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type question struct {
	Expr   string              `json:"expr"`
	Bytes  []byte              `json:"bytes,omitempty"`
	Vars   map[string]string   `json:"vars,omitempty"`
	Schema *v1.JSONSchemaProps `json:"schema,omitempty"`
	Input  map[string]any      `json:"input,omitempty"`
	Bind   bool                `json:"bind,omitempty"`
	Mode   string              `json:"mode,omitempty"`
	Same   bool                `json:"same,omitempty"`
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

// environments holds the extended environments, because making one takes longer than a question.
var environments = map[string]*prepared{}

type prepared struct {
	env       *cel.Env
	self      *apiservercel.DeclType
	structure *schema.Structural
}

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
	key, _ := json.Marshal([]any{q.Vars, q.Schema, q.Bind})
	if known, ok := environments[string(key)]; ok {
		return known, nil
	}
	options := environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0)}
	made := &prepared{}
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
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(options)
	if err != nil {
		return nil, err
	}
	made.env = set.StoredExpressionsEnv()
	environments[string(key)] = made
	return made, nil
}

func ask(q question) answer {
	made, err := prepare(q)
	if err != nil {
		return answer{Panic: err.Error()}
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
	if q.Input == nil {
		return result
	}
	value, details, err := program.Eval(activation(q, made))
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

func activation(q question, made *prepared) map[string]any {
	values := map[string]any{}
	for name, value := range q.Input {
		if name == "self" && made.structure != nil {
			values[name] = schemacel.UnstructuredToVal(plain(value), made.structure)
		} else {
			values[name] = plain(value)
		}
	}
	return values
}

// plain makes whole numbers int64, as the decoder of the API server does.
func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return whole
		}
		number, _ := v.Float64()
		return number
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return value
}

// parseType reads `map(string, list(int))`.
func parseType(text string) (*cel.Type, string, error) {
	end := strings.IndexAny(text, "(),")
	if end < 0 {
		end = len(text)
	}
	name, rest := strings.TrimSpace(text[:end]), text[end:]
	var parameters []*cel.Type
	if strings.HasPrefix(rest, "(") {
		rest = rest[1:]
		for {
			t, after, err := parseType(rest)
			if err != nil {
				return nil, "", err
			}
			parameters = append(parameters, t)
			rest = strings.TrimSpace(after)
			if strings.HasPrefix(rest, ")") {
				rest = rest[1:]
				break
			}
			rest = strings.TrimPrefix(rest, ",")
		}
	}
	switch {
	case name == "list" && len(parameters) == 1:
		return cel.ListType(parameters[0]), rest, nil
	case name == "map" && len(parameters) == 2:
		return cel.MapType(parameters[0], parameters[1]), rest, nil
	case name == "optional" && len(parameters) == 1:
		return cel.OptionalType(parameters[0]), rest, nil
	}
	simple, ok := map[string]*cel.Type{
		"int": cel.IntType, "uint": cel.UintType, "double": cel.DoubleType, "string": cel.StringType,
		"bytes": cel.BytesType, "bool": cel.BoolType, "dyn": cel.DynType, "any": cel.AnyType,
		"duration": cel.DurationType, "timestamp": cel.TimestampType, "null": cel.NullType,
		"authorizer": library.AuthorizerType, "resourcecheck": library.ResourceCheckType,
		"quantity": apiservercel.QuantityDeclType.CelType(), "ip": apiservercel.IPType, "cidr": apiservercel.CIDRType,
	}[name]
	if !ok {
		return nil, "", fmt.Errorf("unknown type %q", name)
	}
	return simple, rest, nil
}

// show writes a value in a form that keeps its type: {"int": "1"}, {"list": […]}.
func show(value ref.Val) any {
	switch v := value.(type) {
	case types.Null:
		return map[string]any{"null": nil}
	case types.Bool:
		return map[string]any{"bool": bool(v)}
	case types.Int:
		return map[string]any{"int": strconv.FormatInt(int64(v), 10)}
	case types.Uint:
		return map[string]any{"uint": strconv.FormatUint(uint64(v), 10)}
	case types.Double:
		return map[string]any{"double": strconv.FormatFloat(float64(v), 'g', -1, 64)}
	case types.String:
		return map[string]any{"string": string(v)}
	case types.Bytes:
		return map[string]any{"bytes": base64.StdEncoding.EncodeToString(v)}
	case types.Duration:
		return map[string]any{"duration": v.Duration.String()}
	case types.Timestamp:
		return map[string]any{"timestamp": v.Time.UTC().Format("2006-01-02T15:04:05.999999999Z")}
	case *types.Type:
		return map[string]any{"type": v.TypeName()}
	case *types.Optional:
		if !v.HasValue() {
			return map[string]any{"optional": nil}
		}
		return map[string]any{"optional": show(v.GetValue())}
	case traits.Mapper:
		entries := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, []any{show(key), show(v.Get(key))})
		}
		return map[string]any{"map": entries}
	case traits.Lister:
		items := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			items = append(items, show(it.Next()))
		}
		return map[string]any{"list": items}
	}
	return map[string]any{"other": fmt.Sprintf("%s", value.Type().TypeName())}
}
