module keelson.flowcontrol.oracle

go 1.26.0

require k8s.io/apiserver v0.36.4
