package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// version is a version of the kind Foo in the group example.com.
type version struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema,omitempty"`
}

// step is a write by a manager: "apply" or "update".
type step struct {
	Do          string          `json:"do"`
	Version     string          `json:"version"`
	Manager     string          `json:"manager"`
	Force       bool            `json:"force,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Reset       []string        `json:"reset,omitempty"`
	Object      json.RawMessage `json:"object"`
}

// state is what there is after a step. The entries of managedFields are sorted and have no times.
type state struct {
	Object    any    `json:"object,omitempty"`
	Managers  any    `json:"managers,omitempty"`
	Error     string `json:"error,omitempty"`
	Unordered bool   `json:"unordered,omitempty"`
}

// apply takes the steps as a server does: what one step leaves is what the next finds.
func apply(asked question) answer {
	types, err := typesOf(asked.Versions)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	var states []state
	for again := range 6 {
		var live *unstructured.Unstructured
		for at, step := range asked.Steps {
			var one state
			live, one = take(step, asked.Versions, types, live)
			switch {
			case again == 0:
				states = append(states, one)
			case states[at].Error != one.Error:
				states[at].Unordered = true
			case !reflect.DeepEqual(states[at], one) && !states[at].Unordered:
				return answer{Failure: fmt.Sprintf("step %d has no certain end", at)}
			}
		}
	}
	return answer{Value: states}
}

func typesOf(versions []version) (managedfields.TypeConverter, error) {
	models := map[string]*spec.Schema{}
	crd := definitionOf(versions)
	for _, version := range versions {
		if err := isStructural(version.Schema); err != nil {
			return nil, err
		}
		built, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{})
		if err != nil {
			return nil, err
		}
		for name, model := range built.Components.Schemas {
			models[name] = model
		}
	}
	return managedfields.NewTypeConverter(models, false)
}

// isStructural refuses schemas that upstream does not publish.
func isStructural(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	internal, err := read(raw)
	if err != nil {
		return err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return err
	}
	if found := structuralschema.ValidateStructural(nil, structural); len(found) > 0 {
		return fmt.Errorf("not structural: %v", found.ToAggregate())
	}
	return nil
}

func definitionOf(versions []version) *v1.CustomResourceDefinition {
	crd := &v1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"},
		Spec: v1.CustomResourceDefinitionSpec{
			Group: "example.com",
			Scope: v1.NamespaceScoped,
			Names: v1.CustomResourceDefinitionNames{Plural: "foos", Singular: "foo", Kind: "Foo", ListKind: "FooList"},
		},
	}
	for _, version := range versions {
		one := v1.CustomResourceDefinitionVersion{Name: version.Name, Served: true}
		if version.Schema != nil {
			var props v1.JSONSchemaProps
			if err := utiljson.Unmarshal(version.Schema, &props); err != nil {
				panic(err)
			}
			one.Schema = &v1.CustomResourceValidation{OpenAPIV3Schema: &props}
		}
		crd.Spec.Versions = append(crd.Spec.Versions, one)
	}
	return crd
}

func take(step step, versions []version, types managedfields.TypeConverter, live *unstructured.Unstructured) (*unstructured.Unstructured, state) {
	gv := schema.GroupVersion{Group: "example.com", Version: step.Version}
	kind := gv.WithKind("Foo")
	machine := machinery{versions: versions}
	resets := map[fieldpath.APIVersion]*fieldpath.Set{}
	for _, path := range step.Reset {
		key := fieldpath.APIVersion(gv.String())
		if resets[key] == nil {
			resets[key] = fieldpath.NewSet()
		}
		var parts []any
		for _, name := range strings.Split(path, ".") {
			parts = append(parts, name)
		}
		resets[key].Insert(fieldpath.MakePathOrDie(parts...))
	}
	manager, err := managedfields.NewDefaultCRDFieldManager(types, machine, machine, machine, kind, gv, step.Subresource, fieldpath.NewExcludeFilterSetMap(resets))
	if err != nil {
		panic(err)
	}
	before, _ := machine.New(kind)
	if live != nil {
		before = live.DeepCopy()
		before.(*unstructured.Unstructured).SetAPIVersion(gv.String())
	}
	object := &unstructured.Unstructured{Object: tree(step.Object).(map[string]any)}
	var after runtime.Object
	if step.Do == "apply" {
		after, err = manager.Apply(before, object, step.Manager, step.Force)
		if err != nil {
			return live, state{Error: err.Error()}
		}
	} else {
		if live != nil {
			object.SetUID("u1")
		}
		after, err = manager.Update(before, object.DeepCopy(), step.Manager)
		if err != nil {
			object.SetManagedFields(nil)
			after = object
		}
	}
	done := after.(*unstructured.Unstructured)
	done.SetUID("u1")
	result := state{Managers: managers(done)}
	if err != nil {
		result.Error = err.Error()
	}
	shown := done.DeepCopy()
	shown.SetManagedFields(nil)
	result.Object = shown.Object
	return done, result
}

func managers(object *unstructured.Unstructured) any {
	var entries []string
	for _, entry := range object.GetManagedFields() {
		entry.Time = nil
		encoded, err := json.Marshal(entry)
		if err != nil {
			panic(err)
		}
		entries = append(entries, string(encoded))
	}
	sort.Strings(entries)
	var result []any
	for _, entry := range entries {
		result = append(result, json.RawMessage(entry))
	}
	if result == nil {
		return nil
	}
	return result
}

// machinery converts as the strategy None does, and defaults nothing.
type machinery struct {
	versions []version
}

func (machinery) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

func (machinery) Default(runtime.Object) {}

func (machinery) Convert(in, out, context any) error {
	return fmt.Errorf("not used")
}

func (m machinery) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		return nil, fmt.Errorf("%v is no version", target)
	}
	for _, version := range m.versions {
		if version.Name == to.Version {
			object := in.DeepCopyObject()
			object.GetObjectKind().SetGroupVersionKind(to)
			return object, nil
		}
	}
	return nil, runtime.NewNotRegisteredErrForKind("oracle", to)
}

func (machinery) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
