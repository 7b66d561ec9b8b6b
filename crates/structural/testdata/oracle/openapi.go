package main

import (
	"encoding/json"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
)

// names are those of a definition; what is missing is that of the kind Foo.
type names struct {
	Group      string   `json:"group"`
	Version    string   `json:"version"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind"`
	Plural     string   `json:"plural"`
	Selectable []string `json:"selectable,omitempty"`
}

// definitions gives the schemas of the kind and of its list; path says for which version of OpenAPI.
func definitions(asked question) answer {
	crd := definitionOf([]version{{Name: asked.Names.Version, Schema: asked.Schema}})
	crd.Spec.Group = asked.Names.Group
	crd.Spec.Names = v1.CustomResourceDefinitionNames{Plural: asked.Names.Plural, Kind: asked.Names.Kind, ListKind: asked.Names.ListKind}
	for _, path := range asked.Names.Selectable {
		fields := &crd.Spec.Versions[0].SelectableFields
		*fields = append(*fields, v1.SelectableField{JSONPath: path})
	}
	options := builder.Options{V2: asked.Path == "v2", IncludeSelectableFields: true}
	found := map[string]any{}
	if options.V2 {
		built, err := builder.BuildOpenAPIV2(crd, asked.Names.Version, options)
		if err != nil {
			return answer{Failure: err.Error()}
		}
		for name, schema := range built.Definitions {
			found[name] = schema
		}
	} else {
		built, err := builder.BuildOpenAPIV3(crd, asked.Names.Version, options)
		if err != nil {
			return answer{Failure: err.Error()}
		}
		for name, schema := range built.Components.Schemas {
			found[name] = schema
		}
	}
	for name, schema := range found {
		encoded, err := json.Marshal(schema)
		if err != nil {
			return answer{Failure: err.Error()}
		}
		var value map[string]any
		if err := json.Unmarshal(encoded, &value); err != nil {
			return answer{Failure: err.Error()}
		}
		if !isOurs(value, asked.Names.Group) {
			delete(found, name)
		} else {
			found[name] = json.RawMessage(encoded)
		}
	}
	// Yes says that the schema is structural; others are not published.
	return answer{Value: found, Yes: asked.Schema != nil && isStructural(asked.Schema) == nil}
}

// isOurs tells the schemas of the definition from those that the server has anyway.
func isOurs(schema map[string]any, group string) bool {
	kinds, _ := schema["x-kubernetes-group-version-kind"].([]any)
	for _, kind := range kinds {
		if kind.(map[string]any)["group"] == group {
			return true
		}
	}
	return false
}
