// Command oracle answers questions about structural schemas with the code that kube-apiserver runs.
//
// It reads one JSON object per line and writes one JSON object per line. A question is
//
//	{"op": "validate", "schema": {…}, "value": {…}, "old": {…}, "path": "status", "text": "…"}
//
// and the answer has the members of type answer below. Go's maps have no order: a question is asked several times, and
// `unordered` says that the order of the errors was not always the same; they are sorted then.
// The program never ends because of a bad question.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apivalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

type question struct {
	Op     string          `json:"op"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Old    json.RawMessage `json:"old,omitempty"`
	Path   string          `json:"path,omitempty"`
	Text   string          `json:"text,omitempty"`

	// Of apply.
	Versions []version `json:"versions,omitempty"`
	Steps    []step    `json:"steps,omitempty"`
	// Of openapi and selectable.
	Names names `json:"names"`
	// Of scale.
	Scale *apiextensions.CustomResourceSubresourceScale `json:"scale,omitempty"`
}

type answer struct {
	// Errors of fields, or the paths of unknown fields.
	Errors    []string `json:"errors,omitempty"`
	Kinds     []string `json:"kinds,omitempty"`
	Unordered bool     `json:"unordered,omitempty"`
	// The value after the operation.
	Value any `json:"value,omitempty"`
	// Whether the answer is yes.
	Yes bool `json:"yes,omitempty"`
	// The question cannot be answered: the schema is none, or upstream panics.
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
	if len(first.Errors) < 2 || first.Failure != "" {
		return first
	}
	for range times {
		again := once(asked)
		if !reflect.DeepEqual(first.Errors, again.Errors) {
			first.Unordered = true
		}
	}
	if first.Unordered {
		order := make([]int, len(first.Errors))
		for i := range order {
			order[i] = i
		}
		key := func(i int) string {
			if len(first.Kinds) > i {
				return first.Errors[i] + "\x00" + first.Kinds[i]
			}
			return first.Errors[i]
		}
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(key(a), key(b)) })
		var errors, kinds []string
		for _, i := range order {
			errors = append(errors, first.Errors[i])
			if len(first.Kinds) > i {
				kinds = append(kinds, first.Kinds[i])
			}
		}
		first.Errors, first.Kinds = errors, kinds
	}
	return first
}

func once(asked question) (result answer) {
	defer func() {
		if trouble := recover(); trouble != nil {
			result = answer{Failure: fmt.Sprintf("panic: %v", trouble)}
		}
	}()
	switch asked.Op {
	case "format":
		return answer{Yes: strfmt.Default.Validates(asked.Path, asked.Text)}
	case "jsonpath":
		return jsonPath(asked)
	case "apply":
		return apply(asked)
	case "openapi":
		return definitions(asked)
	case "table":
		return table(asked)
	case "scale":
		return scale(asked)
	case "selectable":
		return selectable(asked)
	}
	internal, err := read(asked.Schema)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	var path *field.Path
	if asked.Path != "" {
		path = field.NewPath(asked.Path)
	}
	switch asked.Op {
	case "validate":
		validator, _, err := validation.NewSchemaValidator(internal)
		if err != nil {
			return answer{Failure: err.Error()}
		}
		if asked.Old != nil {
			options := validation.WithRatcheting(nil)
			return list(validation.ValidateCustomResourceUpdate(path, tree(asked.Value), tree(asked.Old), validator, options))
		}
		return list(validation.ValidateCustomResource(path, tree(asked.Value), validator))
	case "crdschema":
		return definition(internal, path)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	value := tree(asked.Value)
	switch asked.Op {
	case "prune":
		options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
		paths := pruning.PruneWithOptions(value, structural, asked.Path == "root", options)
		return answer{Errors: paths, Value: value}
	case "nulls":
		defaulting.PruneNonNullableNullsWithoutDefaults(value, structural)
		return answer{Value: value}
	case "default":
		defaulting.PruneNonNullableNullsWithoutDefaults(value, structural)
		defaulting.Default(value, structural)
		return answer{Value: value}
	case "prunedefaults":
		if err := defaulting.PruneDefaults(structural); err != nil {
			return answer{Errors: []string{"failed"}}
		}
		defaulting.Default(value, structural)
		return answer{Value: value}
	case "coerce":
		options := objectmeta.CoerceOptions{DropInvalidFields: asked.Text == "drop", ReturnUnknownFieldPaths: true}
		problem, paths := objectmeta.CoerceWithOptions(nil, value, structural, asked.Path == "root", options)
		if problem != nil {
			return answer{Errors: []string{problem.Error()}}
		}
		return answer{Errors: paths, Value: value}
	case "embedded":
		return embedded(objectmeta.Validate(nil, value, structural, asked.Path == "root"))
	case "lists":
		object, _ := value.(map[string]any)
		return list(listtype.ValidateListSetsAndMaps(nil, structural, object))
	case "structural":
		found := list(schema.ValidateStructural(path, structural))
		sort.Strings(found.Errors)
		return answer{Errors: found.Errors}
	case "defaults":
		found, err := defaulting.ValidateDefaults(context.Background(), field.NewPath("schema"), structural, true, true)
		if err != nil {
			return answer{Failure: err.Error()}
		}
		return list(found)
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

func list(found field.ErrorList) answer {
	var result answer
	for _, one := range found {
		result.Errors = append(result.Errors, one.Error())
		result.Kinds = append(result.Kinds, string(one.Type))
	}
	return result
}

// embedded leaves out what the rules of all metadata say: they are not the subject.
func embedded(found field.ErrorList) answer {
	var kept field.ErrorList
	for _, one := range found {
		if !strings.Contains(one.Field, "metadata.") {
			kept = append(kept, one)
		}
	}
	return list(kept)
}

// definition validates a definition whose only version has the schema.
func definition(internal *apiextensions.JSONSchemaProps, path *field.Path) answer {
	no := false
	crd := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com", ResourceVersion: "1"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group:                 "example.com",
			Scope:                 apiextensions.NamespaceScoped,
			PreserveUnknownFields: &no,
			Conversion:            &apiextensions.CustomResourceConversion{Strategy: apiextensions.NoneConverter},
			Names:                 apiextensions.CustomResourceDefinitionNames{Plural: "foos", Singular: "foo", Kind: "Foo", ListKind: "FooList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: internal}},
				{Name: "v2", Served: true, Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object"}}},
			},
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
	return list(apivalidation.ValidateCustomResourceDefinition(context.Background(), crd))
}

func jsonPath(asked question) answer {
	parsed := jsonpath.New("column")
	if err := parsed.Parse(asked.Text); err != nil {
		return answer{Failure: err.Error()}
	}
	parsed.AllowMissingKeys(asked.Path != "strict")
	value := tree(asked.Value)
	results, err := parsed.FindResults(value)
	if err != nil {
		return answer{Errors: []string{"failed"}}
	}
	// A column uses the results of the first action.
	var found []any
	for _, one := range results[0] {
		found = append(found, one.Interface())
	}
	if found == nil {
		return answer{}
	}
	return answer{Value: found}
}
