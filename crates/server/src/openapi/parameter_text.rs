//! Parameter descriptions of OpenAPI documents, for query and path parameters, in our own words.
//!
//! A parameter that means different things in different options is described for each of them, so that the shared
//! parameters of `/openapi/v2` are as many as upstream's.

/// The description of the query parameter `name` of the options `kind`; empty if there is none.
pub(super) fn query(kind: &str, name: &str) -> &'static str {
    let of_stream = match kind {
        "PodLogOptions" => log(name),
        "PodAttachOptions" => attach(name),
        "PodExecOptions" => exec(name),
        "PodPortForwardOptions" | "PodProxyOptions" | "ServiceProxyOptions" | "NodeProxyOptions" => {
            forward(kind, name)
        }
        _ => "",
    };
    if of_stream.is_empty() { request(kind, name) } else { of_stream }
}

/// The description of the path parameter `name`; `kind` is the kind of the object that the path leads to.
pub(super) fn path(kind: &str, name: &str) -> String {
    match name {
        "name" => format!("The name of the {kind}."),
        "namespace" => "The namespace that contains the objects.".to_owned(),
        "path" => "The path below the proxied object that the request goes to.".to_owned(),
        "logpath" => "The path of a log file below the folder with logs.".to_owned(),
        _ => String::new(),
    }
}

/// The options of reads and writes.
fn request(kind: &str, name: &str) -> &'static str {
    match name {
        "pretty" => {
            "Whether the answer is indented ('true'). Without it, answers for browsers, curl and wget are indented \
             and others are not."
        }
        "dryRun" => {
            "'All' runs every step of the request, admission included, but stores nothing. Other values are refused."
        }
        "fieldManager" if kind == "PatchOptions" => {
            "The name under which the changed fields are owned: up to 128 printable characters. An apply patch must \
             set it; for other patches, the default is derived from the user agent."
        }
        "fieldManager" => {
            "The name under which the changed fields are owned: up to 128 printable characters. The default is \
             derived from the user agent."
        }
        "fieldValidation" => {
            "What happens to unknown and duplicate fields of the body. Ignore: unknown fields are dropped, and the \
             last duplicate is used. Warn (the default): the same, with a warning for each field in the headers of \
             the answer. Strict: the request is refused with an error that names all of them."
        }
        "force" => {
            "Whether an apply patch takes over fields that other managers own. Not allowed for other patches."
        }
        _ => deletion_or_list(name),
    }
}

fn deletion_or_list(name: &str) -> &'static str {
    match name {
        "gracePeriodSeconds" => {
            "How many seconds the object has to shut down before it is deleted. 0 deletes it at once. The default \
             depends on the kind."
        }
        "orphanDependents" => {
            "Deprecated: use propagationPolicy, which cannot be combined with it. Whether objects that the deleted \
             one owns stay without an owner."
        }
        "propagationPolicy" => {
            "What happens to objects that the deleted one owns. Orphan: they stay. Background: the garbage collector \
             deletes them afterwards. Foreground: the object is deleted after them. The default depends on the \
             finalizers of the object and on its kind. Cannot be combined with orphanDependents."
        }
        "ignoreStoreReadErrorWithClusterBreakingPotential" => {
            "Whether an object that can no longer be decrypted or decoded is removed from storage. Such a removal \
             skips finalizers, admission and preconditions and may break workloads. It needs an additional \
             permission, and fails if the object can be read."
        }
        _ => list(name),
    }
}

fn list(name: &str) -> &'static str {
    match name {
        "allowWatchBookmarks" => {
            "Whether a watch may contain events of type BOOKMARK, which carry nothing but a recent resourceVersion. \
             When they are sent is up to the server. Ignored for lists."
        }
        "continue" => {
            "The token from the metadata of the previous part of a list, which asks for the next part. All other \
             parameters must stay the same. A token expires after some minutes: the server then answers 410, either \
             with a token for the rest of the list as it is now, or without one if the list must be started again."
        }
        "fieldSelector" => "Only objects whose fields match this selector. The default is all objects.",
        "labelSelector" => "Only objects whose labels match this selector. The default is all objects.",
        "limit" => {
            "The largest number of objects in the answer. If there are more, the metadata of the list has a continue \
             token for the next part. Selectors may make a part smaller than the limit. All parts together are the \
             list as it was when the first part was read."
        }
        "resourceVersion" => {
            "How old the answer may be, or after which version a watch starts. See \
             https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions. Unset by default."
        }
        "resourceVersionMatch" => {
            "How a list applies resourceVersion: Exact or NotOlderThan. Set it whenever a list has a \
             resourceVersion. See \
             https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions. Unset by default."
        }
        "sendInitialEvents" => {
            "Whether a watch starts with an ADDED event for each existing object, followed by a bookmark with the \
             annotation k8s.io/initial-events-end. Needs resourceVersionMatch=NotOlderThan and is allowed for \
             watches only. The default is true if resourceVersion is unset or 0, and false otherwise."
        }
        "shardSelector" => {
            "Only objects of these shards: one or more shardRange(object.metadata.uid, '0x0', '0x8000000000000000') \
             joined by ||. A range selects by a 64-bit hash of the field, from the first bound up to but not \
             including the second. Alpha: needs the feature gate ShardedListAndWatch."
        }
        "timeoutSeconds" => "How many seconds a list or watch may take, whether or not something happens.",
        "watch" => "Whether the answer is a stream of the changes after resourceVersion instead of a list.",
        _ => "",
    }
}

fn log(name: &str) -> &'static str {
    match name {
        "container" => "The container whose log is read. May be left out if the pod has one container.",
        "follow" => "Whether the answer goes on while the log grows. The default is false.",
        "insecureSkipTLSVerifyBackend" => {
            "Whether the serving certificate of the kubelet is not verified. The log may then come from anybody \
             between the API server and the kubelet."
        }
        "limitBytes" => {
            "Stop after about this many bytes, even in the middle of a line. The default is no limit."
        }
        "previous" => "Whether to read the log of the previous, terminated container. The default is false.",
        "sinceSeconds" => {
            "Only lines of the last this many seconds. Cannot be combined with sinceTime. The default is all lines."
        }
        "stream" => {
            "Which output is read: All (the default), Stdout or Stderr. With tailLines, only All is allowed."
        }
        "tailLines" => {
            "Only this many lines from the end of the log. The default is all lines. Cannot be combined with a \
             stream other than All."
        }
        "timestamps" => "Whether each line starts with its RFC 3339 time. The default is false.",
        _ => "",
    }
}

fn attach(name: &str) -> &'static str {
    match name {
        "container" => "The container to attach to. May be left out if the pod has one container.",
        "stdin" => "Whether to attach to standard input. The default is false.",
        "stdout" => "Whether to attach to standard output. The default is true.",
        "stderr" => "Whether to attach to standard error. The default is true.",
        "tty" => "Whether the attached streams are those of a terminal. The default is false.",
        _ => "",
    }
}

fn exec(name: &str) -> &'static str {
    match name {
        "command" => "The command and its arguments, one parameter for each. It is started without a shell.",
        "container" => "The container that runs the command. May be left out if the pod has one container.",
        "stdin" => "Whether to pass standard input to the command. The default is false.",
        "stdout" => "Whether to receive standard output of the command.",
        "stderr" => "Whether to receive standard error of the command.",
        "tty" => "Whether the command gets a terminal. The default is false.",
        _ => "",
    }
}

fn forward(kind: &str, name: &str) -> &'static str {
    match (kind, name) {
        ("PodPortForwardOptions", "ports") => {
            "The ports of the pod to forward, one parameter for each. WebSocket clients must set it."
        }
        ("PodProxyOptions", "path") => "The path that the pod is asked for.",
        ("NodeProxyOptions", "path") => "The path that the kubelet of the node is asked for.",
        ("ServiceProxyOptions", "path") => {
            "The path and query that an endpoint of the service is asked for. For example, it is _search?q=user:kimchy \
             in /api/v1/namespaces/kube-system/services/elasticsearch-logging/_search?q=user:kimchy."
        }
        _ => "",
    }
}
