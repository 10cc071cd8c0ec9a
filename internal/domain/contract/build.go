package contract

import "fmt"

// Build remembers a session with memory skills.
const Build = "Build" // BuildInput → BuildResult

// Activities of a build.
const (
	OpenBuild  = "OpenBuild"  // BuildInput → OpenBuildResult
	BuildSpan  = "BuildSpan"  // SpanInput → BuildSpanResult
	CloseBuild = "CloseBuild" // CloseInput → BuildResult
)

// BuildInput starts Build. From is the first span that is left, after a workflow
// has continued as new.
type BuildInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
	From     int          `json:"from,omitempty"`
}

// OpenBuildResult counts the spans of a session.
type OpenBuildResult struct {
	Spans int          `json:"spans"`
	Ended *BuildResult `json:"ended,omitempty"` // an earlier attempt has brought the run to its end
}

// SpanInput names one span of a build.
type SpanInput struct {
	RunRef
	Span int `json:"span"`
}

// BuildSpanResult counts what became of the actions of a span.
type BuildSpanResult struct {
	Outcome string `json:"outcome"`
	Done    int    `json:"done"`
	Refused int    `json:"refused"`
}

// BuildResult is Build's result.
type BuildResult struct {
	Outcome string `json:"outcome"`
	Spans   int    `json:"spans"`
	Failed  int    `json:"failed"`
	Added   int    `json:"added"`
	Updated int    `json:"updated"`
	Deleted int    `json:"deleted"`
}

// BuildID is the workflow id of a build.
func BuildID(workspaceKey, trace string, generation int) string {
	return generationOf(fmt.Sprintf("build/%s/%s", workspaceKey, trace), generation)
}
