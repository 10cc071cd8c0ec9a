package contract

import "fmt"

// Workflows of memory skills.
const (
	Build = "Build" // BuildInput → BuildResult
)

// Activities of memory skills.
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

// TrainID is the workflow id of a training. The bank's name is chosen by people
// for people, as the key is.
func TrainID(workspaceKey, bank, key string) string {
	return fmt.Sprintf("train/%s/%s/%s", workspaceKey, VisibleKey(bank), key)
}

// EvolveID is the workflow id of a round of evolution.
func EvolveID(workspaceKey, bank, key string) string {
	return fmt.Sprintf("evolve/%s/%s/%s", workspaceKey, VisibleKey(bank), key)
}

// Workflows of a training, each the child of the one before.
const (
	Train          = "Train"          // TrainInput → TrainResult
	TrainStage     = "TrainStage"     // StageInput → StageResult
	TrainIteration = "TrainIteration" // IterationInput → IterationResult
	TrainEpisode   = "TrainEpisode"   // EpisodeInput
)

// Activities of a training.
const (
	OpenTraining  = "OpenTraining"  // TrainInput → OpenTrainingResult
	PlayEpisode   = "PlayEpisode"   // EpisodeInput
	Learn         = "Learn"         // IterationInput → IterationResult
	CloseStage    = "CloseStage"    // StageInput → StageResult
	TrainTrial    = "TrainTrial"    // TrialInput
	CloseTraining = "CloseTraining" // CloseInput → TrainResult
)

// TrainInput starts Train. FromStage is the first that is left, after the
// workflow has continued as new.
type TrainInput struct {
	RunRef
	WorkflowID string       `json:"workflow_id"` // its children's ids begin with it
	Timeouts   StepTimeouts `json:"timeouts"`
	FromStage  int          `json:"from_stage,omitempty"`
}

// OpenTrainingResult tells how long a training is.
type OpenTrainingResult struct {
	Stages     int          `json:"stages"`
	Iterations int          `json:"iterations"`
	Episodes   int          `json:"episodes"`
	Parallel   int          `json:"parallel"` // episodes at once
	Trials     int          `json:"trials"`   // held-out conversations to try what was trained on
	Ended      *TrainResult `json:"ended,omitempty"`
}

// StageInput starts one stage. FromIteration is the first that is left.
type StageInput struct {
	TrainInput
	Stage int                `json:"stage"`
	Of    OpenTrainingResult `json:"of"`

	FromIteration int `json:"from_iteration,omitempty"`
}

// StageResult tells where a training stands after a stage.
type StageResult struct {
	Stop bool    `json:"stop"`
	Best float64 `json:"best"`
}

// IterationInput starts one iteration.
type IterationInput struct {
	StageInput
	Iteration int `json:"iteration"`
}

// IterationResult tells what it brought.
type IterationResult struct {
	Reward float64 `json:"reward"`
	Policy string  `json:"policy"` // its hash
}

// EpisodeInput starts one episode.
type EpisodeInput struct {
	IterationInput
	Episode int `json:"episode"`
}

// TrainResult is Train's result.
type TrainResult struct {
	Outcome    string  `json:"outcome"`
	Version    int     `json:"version"` // that was promoted
	Policy     string  `json:"policy"`
	Stages     int     `json:"stages"`
	Iterations int     `json:"iterations"`
	Best       float64 `json:"best"`
}

// Evolve is a round of the designer.
const Evolve = "Evolve" // EvolveInput → EvolveResult

// Activities of a round.
const (
	OpenRound   = "OpenRound"   // EvolveInput → OpenRoundResult
	MineRound   = "MineRound"   // EvolveInput → MineRoundResult
	DesignRound = "DesignRound" // EvolveInput → DesignRoundResult
	Trial       = "Trial"       // TrialInput
	CloseRound  = "CloseRound"  // CloseInput → EvolveResult
)

// EvolveInput starts Evolve.
type EvolveInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
}

// OpenRoundResult tells whether an earlier attempt has ended the round.
type OpenRoundResult struct {
	Ended *EvolveResult `json:"ended,omitempty"`
}

// MineRoundResult counts the cases of a round.
type MineRoundResult struct {
	Cases int `json:"cases"`
}

// DesignRoundResult counts the conversations to try a candidate on; 0 without one.
type DesignRoundResult struct {
	Trials int `json:"trials"`
}

// TrialInput names one of them.
type TrialInput struct {
	RunRef
	Trial int `json:"trial"`
}

// EvolveResult is Evolve's result.
type EvolveResult struct {
	Outcome string  `json:"outcome"`
	Cases   int     `json:"cases"`
	Traces  int     `json:"traces"`
	Mean    float64 `json:"mean"` // of candidate − incumbent
}

// Adapt lets the policy of a bank learn from live decisions.
const Adapt = "Adapt" // AdaptInput → AdaptResult

// Activities of an update.
const (
	OpenAdapt   = "OpenAdapt"   // AdaptInput → OpenAdaptResult
	AdaptPolicy = "AdaptPolicy" // AdaptInput → AdaptPolicyResult
	ShadowTrial = "ShadowTrial" // TrialInput
	CloseAdapt  = "CloseAdapt"  // CloseInput → AdaptResult
)

// AdaptInput starts Adapt.
type AdaptInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
}

// OpenAdaptResult counts the decisions that an update learns from.
type OpenAdaptResult struct {
	Decisions int          `json:"decisions"`
	Ended     *AdaptResult `json:"ended,omitempty"` // an earlier attempt has ended it
}

// AdaptPolicyResult counts the conversations to try the new policy on.
type AdaptPolicyResult struct {
	Trials int `json:"trials"`
}

// AdaptResult is Adapt's result.
type AdaptResult struct {
	Outcome   string `json:"outcome"`
	Decisions int    `json:"decisions"`
	Update    int    `json:"update"` // its number
	Policy    string `json:"policy"` // its hash
}

// AdaptID is the workflow id of an update.
func AdaptID(workspaceKey, bank, key string, generation int) string {
	return generationOf(fmt.Sprintf("adapt/%s/%s/%s", workspaceKey, VisibleKey(bank), key), generation)
}

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
