// Command oracle answers questions about validation rules with the code that kube-apiserver runs.
//
// It reads one JSON object per line and writes one JSON object per line. There are three kinds of questions:
//
//	{"op": "definition", "schema": {…}, "old": {…}}
//	{"op": "defaults", "schema": {…}}
//	{"op": "validate", "schema": {…}, "root": true, "value": {…}, "old": {…}, "ratchet": true, "budget": 100, "path": "root"}
//
// The answer has the members of type answer below. Go's maps have no order: a question is asked several times. If the
// order of the errors is not always the same, they are sorted and `unordered` is set; if the errors themselves are not
// the same, `varies` is set. The program never ends because of a bad question.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apivalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/warning"
)

type question struct {
	Op      string          `json:"op"`
	Schema  json.RawMessage `json:"schema"`
	Root    bool            `json:"root,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Old     json.RawMessage `json:"old,omitempty"`
	Ratchet bool            `json:"ratchet,omitempty"`
	Budget  int64           `json:"budget,omitempty"`
	Path    string          `json:"path,omitempty"`
}

type answer struct {
	// Errors of fields and their types.
	Errors []string `json:"errors,omitempty"`
	Kinds  []string `json:"kinds,omitempty"`
	// What is wrong with a definition apart from its rules.
	SchemaErrors []string `json:"schemaErrors,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	// The estimated cost of all rules of a definition, as text because it may exceed what JSON readers take.
	Cost string `json:"cost,omitempty"`
	// What is left of the budget; null if there are no rules.
	Left      *int64 `json:"left,omitempty"`
	Unordered bool   `json:"unordered,omitempty"`
	Varies    bool   `json:"varies,omitempty"`
	// The question cannot be answered: the schema is none, the rules of a definition are not looked at, or upstream
	// panics.
	Failure string `json:"failure,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			var encoded bytes.Buffer
			encoder := json.NewEncoder(&encoded)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(answered(line))
			out.Write(encoded.Bytes())
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

// How often a question is asked, to see whether its answer depends on the order of Go's maps.
const times = 20

func answered(line []byte) answer {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Failure: err.Error()}
	}
	first := once(asked)
	if len(first.Errors)+len(first.Warnings) < 2 && first.Left == nil || first.Failure != "" {
		return first
	}
	ordered := first
	sorted(&first)
	for range times {
		again := once(asked)
		if !reflect.DeepEqual(ordered, again) {
			first.Unordered = true
		}
		sorted(&again)
		unordered := first.Unordered
		again.Unordered = unordered
		if !reflect.DeepEqual(first, again) {
			first.Varies = true
			return first
		}
	}
	if first.Unordered {
		return first
	}
	return ordered
}

func sorted(one *answer) {
	order := make([]int, len(one.Errors))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return strings.Compare(one.Errors[a]+"\x00"+one.Kinds[a], one.Errors[b]+"\x00"+one.Kinds[b])
	})
	var errors, kinds []string
	for _, i := range order {
		errors = append(errors, one.Errors[i])
		kinds = append(kinds, one.Kinds[i])
	}
	one.Errors, one.Kinds = errors, kinds
	one.SchemaErrors = slices.Clone(one.SchemaErrors)
	slices.Sort(one.SchemaErrors)
	one.Warnings = slices.Clone(one.Warnings)
	slices.Sort(one.Warnings)
}

func once(asked question) (result answer) {
	defer func() {
		if trouble := recover(); trouble != nil {
			result = answer{Failure: fmt.Sprintf("panic: %v", trouble)}
		}
	}()
	internal, err := read(asked.Schema)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	switch asked.Op {
	case "definition":
		var old *apiextensions.JSONSchemaProps
		if asked.Old != nil {
			if old, err = read(asked.Old); err != nil {
				return answer{Failure: err.Error()}
			}
		}
		return define(internal, old)
	case "defaults":
		return defaults(internal)
	case "validate":
		structural, err := schema.NewStructural(internal)
		if err != nil {
			return answer{Failure: err.Error()}
		}
		return validate(asked, structural)
	}
	return answer{Failure: "unknown operation"}
}

func read(raw json.RawMessage) (*apiextensions.JSONSchemaProps, error) {
	var external v1.JSONSchemaProps
	if err := utiljson.Unmarshal(raw, &external); err != nil {
		return nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	return internal, v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, internal, nil)
}

func tree(raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		panic(err)
	}
	return value
}

// The name of the type of self ends with a number that is another one each time.
var selfType = regexp.MustCompile(`selfType\d+`)

func (a *answer) add(one *field.Error) {
	a.Errors = append(a.Errors, selfType.ReplaceAllString(one.Error(), "selfType"))
	a.Kinds = append(a.Kinds, string(one.Type))
}

type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

func validate(asked question, structural *schema.Structural) answer {
	validator := cel.NewValidator(structural, asked.Root, celconfig.PerCallLimit)
	if validator == nil {
		return answer{}
	}
	var path *field.Path
	if asked.Path != "" {
		path = field.NewPath(asked.Path)
	}
	value, old := tree(asked.Value), tree(asked.Old)
	var options []cel.Option
	if asked.Ratchet {
		options = append(options, cel.WithRatcheting(common.NewCorrelatedObject(value, old, &model.Structural{Structural: structural})))
	}
	warnings := &recorder{}
	ctx := warning.WithWarningRecorder(context.Background(), warnings)
	found, left := validator.Validate(ctx, path, structural, value, old, asked.Budget, options...)
	result := answer{Left: &left, Warnings: warnings.texts}
	for _, one := range found {
		result.add(one)
	}
	return result
}

// defaults validates the defaults of a schema.
func defaults(internal *apiextensions.JSONSchemaProps) answer {
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	found, err := defaulting.ValidateDefaults(context.Background(), field.NewPath("schema"), structural, true, true)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	result := answer{}
	for _, one := range found {
		result.add(one)
	}
	return result
}

const at = "spec.versions[0].schema.openAPIV3Schema"

// define validates a definition whose first version has the schema.
func define(internal, old *apiextensions.JSONSchemaProps) answer {
	ctx := context.Background()
	structural, err := schema.NewStructural(internal.DeepCopy())
	if err != nil {
		return answer{Failure: "not structural"}
	}
	path := field.NewPath("spec").Child("versions").Index(0).Child("schema", "openAPIV3Schema")
	if found := schema.ValidateStructural(path, structural); len(found) > 0 {
		return answer{Failure: "not structural"}
	}
	if found, err := defaulting.ValidateDefaults(ctx, path, structural, true, true); err != nil || len(found) > 0 {
		return answer{Failure: "wrong defaults"}
	}
	var found field.ErrorList
	if old == nil {
		found = apivalidation.ValidateCustomResourceDefinition(ctx, definition(internal))
	} else {
		found = apivalidation.ValidateCustomResourceDefinitionUpdate(ctx, definition(internal), definition(old))
	}
	result := answer{}
	for _, one := range found {
		switch {
		case isAboutRules(one):
			result.add(one)
		case strings.HasPrefix(one.Field, at):
			result.SchemaErrors = append(result.SchemaErrors, one.Error())
		}
	}
	if len(result.SchemaErrors) == 0 {
		total := &apivalidation.TotalCost{}
		cost(internal, apivalidation.RootCELContext(internal), total)
		result.Cost = fmt.Sprint(total.Total)
	}
	return result
}

// isAboutRules says whether an error comes from compiling rules.
func isAboutRules(one *field.Error) bool {
	rest, is := strings.CutPrefix(one.Field, at)
	if !is {
		return false
	}
	if rest == "" {
		return strings.HasPrefix(one.Detail, "x-kubernetes-validations estimated rule cost total")
	}
	if strings.HasSuffix(rest, ".x-kubernetes-validations") {
		return true
	}
	if !strings.Contains(rest, ".x-kubernetes-validations[") {
		return false
	}
	for _, own := range []string{"rule is not specified", "must be non-empty if specified", "must not contain line breaks",
		"message must be specified", "messageExpression must be non-empty", "must be a valid path", "supported values"} {
		if strings.HasPrefix(one.Detail, own) {
			return false
		}
	}
	return true
}

// cost adds up what the rules of a schema and of those below it may cost.
func cost(node *apiextensions.JSONSchemaProps, at *apivalidation.CELSchemaContext, total *apivalidation.TotalCost) {
	if node == nil {
		return
	}
	if node.AdditionalProperties != nil {
		cost(node.AdditionalProperties.Schema, at.ChildAdditionalPropertiesContext(node.AdditionalProperties.Schema), total)
	}
	for name, property := range node.Properties {
		cost(&property, at.ChildPropertyContext(&property, name), total)
	}
	if node.Items != nil {
		cost(node.Items.Schema, at.ChildItemsContext(node.Items.Schema), total)
	}
	if len(node.XValidations) == 0 {
		return
	}
	info, err := at.TypeInfo()
	if err != nil || info == nil {
		return
	}
	environments := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	results, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit, environments, cel.NewExpressionsEnvLoader())
	if err != nil {
		return
	}
	for _, one := range results {
		often := one.MaxCardinality
		if at.MaxCardinality != nil {
			often = *at.MaxCardinality
		}
		product := one.MaxCost * often
		if one.MaxCost != 0 && math.MaxUint64/one.MaxCost < often {
			product = math.MaxUint64
		}
		total.ObserveExpressionCost(nil, product)
		total.ObserveExpressionCost(nil, one.MessageExpressionMaxCost)
	}
}

func definition(internal *apiextensions.JSONSchemaProps) *apiextensions.CustomResourceDefinition {
	no := false
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com", ResourceVersion: "1"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group:                 "example.com",
			Scope:                 apiextensions.NamespaceScoped,
			PreserveUnknownFields: &no,
			Conversion:            &apiextensions.CustomResourceConversion{Strategy: apiextensions.NoneConverter},
			Names:                 apiextensions.CustomResourceDefinitionNames{Plural: "foos", Singular: "foo", Kind: "Foo", ListKind: "FooList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: internal.DeepCopy()}},
				{Name: "v2", Served: true, Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", Description: "other"}}},
			},
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
}
