package main

import (
	"fmt"
	"testing"

	"github.com/google/cel-go/cel"

	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// expressions are those of benches/evaluate.rs.
var expressions = []struct{ name, text string }{
	{"compare", "object.spec.replicas <= 5"},
	{"all", "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))"},
	{"matches", "object.spec.containers.all(c, c.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))"},
	{"map", "object.spec.containers.map(c, c.name).join(',') != ''"},
	{"units", "object.spec.numbers.all(n, n < 20000 && n >= 0)"},
}

func object() map[string]any {
	containers := []any{}
	for number := range 10 {
		containers = append(containers, map[string]any{
			"name": fmt.Sprintf("c%d", number), "image": fmt.Sprintf("registry.example.com/app:%d", number),
		})
	}
	numbers := []any{}
	for number := range 10_000 {
		numbers = append(numbers, int64(number))
	}
	return map[string]any{"spec": map[string]any{"replicas": int64(3), "containers": containers, "numbers": numbers}}
}

func env(b *testing.B) *cel.Env {
	options := environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("object", cel.DynType)},
	}
	set, err := environment.MustBaseEnvSet(version.MajorMinor(1, 36)).Extend(options)
	if err != nil {
		b.Fatal(err)
	}
	return set.StoredExpressionsEnv()
}

func program(b *testing.B, env *cel.Env, text string) cel.Program {
	ast, issues := env.Compile(text)
	if issues != nil {
		b.Fatal(issues)
	}
	program, err := env.Program(ast, cel.CostTracking(&library.CostEstimator{}), cel.InterruptCheckFrequency(100))
	if err != nil {
		b.Fatal(err)
	}
	return program
}

func BenchmarkEvaluate(b *testing.B) {
	variables := map[string]any{"object": object()}
	env := env(b)
	for _, expression := range expressions {
		program := program(b, env, expression.text)
		b.Run(expression.name, func(b *testing.B) {
			var cost uint64
			for b.Loop() {
				_, details, err := program.Eval(variables)
				if err != nil {
					b.Fatal(err)
				}
				cost = *details.ActualCost()
			}
			b.ReportMetric(float64(cost), "units")
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	env := env(b)
	for b.Loop() {
		program(b, env, expressions[0].text)
	}
}
