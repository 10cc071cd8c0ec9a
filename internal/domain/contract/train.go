package contract

import "fmt"

// Workflows of a training. Each is a child of the previous one.
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

// TrainInput starts Train. FromStage is the first stage that is left after a continue-as-new.
type TrainInput struct {
	RunRef
	WorkflowID string       `json:"workflow_id"` // prefix of its children's IDs
	Timeouts   StepTimeouts `json:"timeouts"`
	FromStage  int          `json:"from_stage,omitempty"`
}

// OpenTrainingResult holds the size of a training.
type OpenTrainingResult struct {
	Stages     int          `json:"stages"`
	Iterations int          `json:"iterations"`
	Episodes   int          `json:"episodes"`
	Parallel   int          `json:"parallel"` // episodes that run concurrently
	Trials     int          `json:"trials"`   // held-out conversations for the trial
	Ended      *TrainResult `json:"ended,omitempty"`
}

// StageInput starts one stage. FromIteration is the first iteration that is left.
type StageInput struct {
	TrainInput
	Stage int                `json:"stage"`
	Of    OpenTrainingResult `json:"of"`

	FromIteration int `json:"from_iteration,omitempty"`
}

// StageResult is the state of a training after a stage.
type StageResult struct {
	Stop bool    `json:"stop"`
	Best float64 `json:"best"`
}

// IterationInput starts one iteration.
type IterationInput struct {
	StageInput
	Iteration int `json:"iteration"`
}

// IterationResult is the result of an iteration.
type IterationResult struct {
	Reward float64 `json:"reward"`
	Policy string  `json:"policy"` // hash of the policy
}

// EpisodeInput starts one episode.
type EpisodeInput struct {
	IterationInput
	Episode int `json:"episode"`
}

// TrainResult is the result of Train.
type TrainResult struct {
	Outcome    string  `json:"outcome"`
	Version    int     `json:"version"` // promoted version
	Policy     string  `json:"policy"`
	Stages     int     `json:"stages"`
	Iterations int     `json:"iterations"`
	Best       float64 `json:"best"`
}

// TrainID returns the workflow ID of a training. The name of the bank and the key appear as they
// are, because people choose them for display.
func TrainID(workspaceKey, bank, key string) string {
	return fmt.Sprintf("train/%s/%s/%s", workspaceKey, VisibleKey(bank), key)
}
