// Command oracle describes custom resources with the code that kube-apiserver runs.
//
// It reads the specification of a CustomResourceDefinition per line and writes, per line, what OpenAPI documents say
// about its first version: the paths, the names of the schemas, the schemas of the kind and of its list, and what stands
// around them. Descriptions of parameters are left out, because they are prose.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"sort"
	"strings"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/handler"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		crd := &v1.CustomResourceDefinition{}
		check(json.Unmarshal(lines.Bytes(), &crd.Spec))
		version := crd.Spec.Versions[0].Name
		v2, err := builder.BuildOpenAPIV2(crd, version, builder.Options{V2: true, IncludeSelectableFields: true})
		check(err)
		v2.Definitions = handler.PruneDefaults(v2.Definitions)
		v3, err := builder.BuildOpenAPIV3(crd, version, builder.Options{IncludeSelectableFields: true})
		check(err)
		check(out.Encode(map[string]any{"v2": reduced(v2, "definitions"), "v3": reduced(v3, "schemas")}))
	}
	check(lines.Err())
}

// reduced keeps the names of the schemas that are not about the custom kind, and drops what parameters are described with.
func reduced(document any, schemas string) map[string]any {
	text, err := json.Marshal(document)
	check(err)
	var tree map[string]any
	check(json.Unmarshal(text, &tree))
	holder := tree
	if schemas == "schemas" {
		holder = tree["components"].(map[string]any)
	}
	all := holder[schemas].(map[string]any)
	names, own := []string{}, map[string]any{}
	for name, schema := range all {
		names = append(names, name)
		if !strings.HasPrefix(name, "io.k8s.api.") && !strings.HasPrefix(name, "io.k8s.apimachinery.") {
			own[name] = schema
		}
	}
	sort.Strings(names)
	holder[schemas] = own
	tree["names"] = names
	silence(tree["paths"])
	silence(tree["parameters"])
	return tree
}

func silence(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		if _, ok := tree["in"]; ok {
			delete(tree, "description")
		}
		for _, child := range tree {
			silence(child)
		}
	case []any:
		for _, child := range tree {
			silence(child)
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
