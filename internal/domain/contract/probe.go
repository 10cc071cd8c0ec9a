package contract

import "fmt"

// Probe asks self-test questions about the memories of a build.
const Probe = "Probe" // ProbeInput → ProbeResult

// Activities of Probe.
const (
	OpenProbe  = "OpenProbe"  // ProbeInput → OpenProbeResult
	MakeProbes = "MakeProbes" // ProbeInput → MakeProbesResult
	AskProbe   = "AskProbe"   // AskInput
	CloseProbe = "CloseProbe" // CloseInput → ProbeResult
)

// ProbeInput starts Probe.
type ProbeInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
}

// OpenProbeResult reports whether an earlier attempt has ended the probe run.
type OpenProbeResult struct {
	Ended *ProbeResult `json:"ended,omitempty"`
}

// MakeProbesResult holds the number of questions.
type MakeProbesResult struct {
	Probes int `json:"probes"`
}

// AskInput identifies one question.
type AskInput struct {
	RunRef
	Probe int `json:"probe"`
}

// ProbeResult is the result of Probe.
type ProbeResult struct {
	Outcome string  `json:"outcome"`
	Probes  int     `json:"probes"`
	Scored  int     `json:"scored"`
	Mean    float64 `json:"mean"` // mean of the scores
}

// ProbeID returns the workflow ID of the probes of a build.
func ProbeID(workspaceKey, build string) string {
	return fmt.Sprintf("probe/%s/%s", workspaceKey, build)
}
