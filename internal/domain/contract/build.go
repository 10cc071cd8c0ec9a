package contract

import "fmt"

// Build extracts memories from a session with memory skills.
const Build = "Build" // BuildInput → BuildResult

// Activities of Build.
const (
	OpenBuild  = "OpenBuild"  // BuildInput → OpenBuildResult
	BuildSpan  = "BuildSpan"  // SpanInput → BuildSpanResult
	CloseBuild = "CloseBuild" // CloseInput → BuildResult
)

// BuildInput starts Build. From is the first span that is left after a continue-as-new.
type BuildInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
	From     int          `json:"from,omitempty"`
}

// OpenBuildResult holds the number of spans of a session.
type OpenBuildResult struct {
	Spans int          `json:"spans"`
	Ended *BuildResult `json:"ended,omitempty"` // an earlier attempt has ended the run
}

// SpanInput identifies one span of a build.
type SpanInput struct {
	RunRef
	Span int `json:"span"`
}

// BuildSpanResult counts the actions of a span by their result.
type BuildSpanResult struct {
	Outcome string `json:"outcome"`
	Done    int    `json:"done"`
	Refused int    `json:"refused"`
}

// BuildResult is the result of Build.
type BuildResult struct {
	Outcome string `json:"outcome"`
	Spans   int    `json:"spans"`
	Failed  int    `json:"failed"`
	Added   int    `json:"added"`
	Updated int    `json:"updated"`
	Deleted int    `json:"deleted"`
}

// BuildID returns the workflow ID of a build.
func BuildID(workspaceKey, trace string, generation int) string {
	return generationOf(fmt.Sprintf("build/%s/%s", workspaceKey, trace), generation)
}
