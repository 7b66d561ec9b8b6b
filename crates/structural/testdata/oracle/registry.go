package main

import (
	"context"
	"encoding/json"
	_ "unsafe" // for go:linkname

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var foo = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Foo"}

// table gives the headers, the cells of one object and whether a path was no path.
func table(asked question) answer {
	var columns []v1.CustomResourceColumnDefinition
	if err := json.Unmarshal(asked.Schema, &columns); err != nil {
		return answer{Failure: err.Error()}
	}
	convertor, problem := tableconvertor.New(columns)
	object := &unstructured.Unstructured{Object: tree(asked.Value).(map[string]any)}
	table, err := convertor.ConvertToTable(context.Background(), object, nil)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	found := map[string]any{"headers": table.ColumnDefinitions, "cells": table.Rows[0].Cells}
	if problem != nil {
		found["problem"] = problem.Error()
	}
	return answer{Value: found}
}

//go:linkname scaleFromCustomResource k8s.io/apiextensions-apiserver/pkg/registry/customresource.scaleFromCustomResource
func scaleFromCustomResource(cr *unstructured.Unstructured, specReplicasPath, statusReplicasPath, labelSelectorPath string) (*autoscalingv1.Scale, bool, error)

// scale gives the scale of an object, what is wrong with its replicas, and the object with other replicas.
func scale(asked question) answer {
	paths := asked.Scale
	object := &unstructured.Unstructured{Object: tree(asked.Value).(map[string]any)}
	found := map[string]any{}
	made, hasReplicas, err := scaleFromCustomResource(object, paths.SpecReplicasPath, paths.StatusReplicasPath, selector(paths))
	if err != nil {
		found["error"] = err.Error()
	} else {
		found["scale"], found["hasReplicas"] = made, hasReplicas
	}
	strategy := customresource.NewStrategy(nil, false, foo, nil, nil, nil, nil, paths, nil)
	var errors []string
	for _, one := range strategy.Validate(context.Background(), object) {
		if one.Field == paths.SpecReplicasPath || one.Field == paths.StatusReplicasPath || one.Field == selector(paths) {
			errors = append(errors, one.Error())
		}
	}
	changed := object.DeepCopy()
	names := splitReplicasPath(paths.SpecReplicasPath)
	if err := unstructured.SetNestedField(changed.Object, int64(7), names...); err != nil {
		found["setError"] = err.Error()
	} else {
		found["changed"] = changed.Object
	}
	return answer{Errors: errors, Value: found}
}

//go:linkname splitReplicasPath k8s.io/apiextensions-apiserver/pkg/registry/customresource.splitReplicasPath
func splitReplicasPath(replicasPath string) []string

func selector(paths *apiextensions.CustomResourceSubresourceScale) string {
	if paths.LabelSelectorPath == nil {
		return ""
	}
	return *paths.LabelSelectorPath
}

// selectable gives the fields that selectors compare.
func selectable(asked question) answer {
	object := &unstructured.Unstructured{Object: tree(asked.Value).(map[string]any)}
	var fields []v1.SelectableField
	for _, path := range asked.Names.Selectable {
		fields = append(fields, v1.SelectableField{JSONPath: path})
	}
	strategy := customresource.NewStrategy(nil, true, foo, nil, nil, nil, nil, nil, fields)
	_, found, err := strategy.GetAttrs(object)
	if err != nil {
		return answer{Failure: err.Error()}
	}
	return answer{Value: found}
}
