package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apiserver/pkg/authentication/user"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"
)

// activation makes the variables: `self` and `oldSelf` by the schema, the others by their declared types.
func activation(q question, made *prepared) map[string]any {
	values := map[string]any{}
	for name, value := range q.Input {
		typed := (name == "self" || name == "oldSelf") && made.structure != nil
		switch {
		case typed && name == "oldSelf" && made.oldSelf == "optional" && value == nil:
			values[name] = types.OptionalNone
		case typed && name == "oldSelf" && made.oldSelf == "optional":
			values[name] = types.OptionalOf(schemacel.UnstructuredToVal(plain(value), made.structure))
		case typed:
			values[name] = schemacel.UnstructuredToVal(plain(value), made.structure)
		default:
			values[name] = declared(value, made.vars[name])
		}
	}
	return values
}

// declared reads a value of JSON as a variable of this type.
func declared(value any, of string) any {
	if inner, ok := strings.CutPrefix(of, "optional("); ok {
		if value == nil {
			return types.OptionalNone
		}
		inner = strings.TrimSuffix(inner, ")")
		return types.OptionalOf(types.DefaultTypeAdapter.NativeToValue(declared(value, inner)))
	}
	switch of {
	case "authorizer":
		return library.NewAuthorizerVal(&user.DefaultInfo{Name: "alice"}, decider{})
	case "resourcecheck":
		return library.NewResourceAuthorizerVal(&user.DefaultInfo{Name: "alice"}, decider{}, requestResource{})
	}
	switch v := value.(type) {
	case string:
		return declaredText(v, of)
	case json.Number:
		switch of {
		case "uint":
			number, _ := strconv.ParseUint(v.String(), 10, 64)
			return number
		case "double":
			number, _ := v.Float64()
			return number
		}
	}
	return plain(value)
}

func declaredText(text, of string) any {
	switch of {
	case "timestamp":
		if moment, err := time.Parse(time.RFC3339, text); err == nil {
			return types.Timestamp{Time: moment}
		}
	case "duration":
		if duration, err := time.ParseDuration(text); err == nil {
			return types.Duration{Duration: duration}
		}
	case "bytes":
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			return types.Bytes(decoded)
		}
	case "quantity":
		if quantity, err := resource.ParseQuantity(text); err == nil {
			return apiservercel.Quantity{Quantity: &quantity}
		}
	case "ip":
		if address, err := netip.ParseAddr(text); err == nil {
			return apiservercel.IP{Addr: address}
		}
	case "cidr":
		if prefix, err := netip.ParsePrefix(text); err == nil {
			return apiservercel.CIDR{Prefix: prefix}
		}
	}
	return text
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
	return map[string]any{"other": value.Type().TypeName(), "text": text(value)}
}

// text is what the libraries of Kubernetes print for their values.
func text(value ref.Val) string {
	switch v := value.(type) {
	case apiservercel.Quantity:
		return v.String()
	case *apiservercel.Quantity:
		return v.String()
	case apiservercel.IP:
		return v.String()
	case apiservercel.CIDR:
		return v.String()
	case apiservercel.URL:
		return v.String()
	case apiservercel.Semver:
		return v.String()
	}
	return ""
}
