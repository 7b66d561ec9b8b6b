package main

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// decider answers checks by their attributes alone, so that our engine can be given the same decisions.
type decider struct{}

func (decider) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	switch {
	case a.GetVerb() == "error":
		return authorizer.DecisionNoOpinion, "", errors.New("the authorizer failed")
	case a.GetVerb() == "get" || a.GetResource() == "pods" || a.GetPath() == "/healthz":
		return authorizer.DecisionAllow, "allowed to " + a.GetVerb(), nil
	}
	return authorizer.DecisionDeny, "denied for " + a.GetUser().GetName(), nil
}

// requestResource is the resource of `authorizer.requestResource`.
type requestResource struct{}

func (requestResource) GetName() string      { return "web" }
func (requestResource) GetNamespace() string { return "ns" }
func (requestResource) GetResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}
func (requestResource) GetSubresource() string { return "scale" }
