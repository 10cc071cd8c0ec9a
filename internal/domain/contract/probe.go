package contract

import "fmt"

// Probe has memory ask itself what a build has remembered.
const Probe = "Probe" // ProbeInput → ProbeResult

// Activities of a probing.
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

// OpenProbeResult tells whether an earlier attempt has ended the probing.
type OpenProbeResult struct {
	Ended *ProbeResult `json:"ended,omitempty"`
}

// MakeProbesResult counts the questions.
type MakeProbesResult struct {
	Probes int `json:"probes"`
}

// AskInput names one of them.
type AskInput struct {
	RunRef
	Probe int `json:"probe"`
}

// ProbeResult is Probe's result.
type ProbeResult struct {
	Outcome string  `json:"outcome"`
	Probes  int     `json:"probes"`
	Scored  int     `json:"scored"`
	Mean    float64 `json:"mean"` // of the scores
}

// ProbeID is the workflow id of the probing of a build.
func ProbeID(workspaceKey string, build int64) string {
	return fmt.Sprintf("probe/%s/%d", workspaceKey, build)
}
