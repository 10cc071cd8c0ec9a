package contract

import "fmt"

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

// TrainID is the workflow id of a training. The bank's name is chosen by people
// for people, as the key is.
func TrainID(workspaceKey, bank, key string) string {
	return fmt.Sprintf("train/%s/%s/%s", workspaceKey, VisibleKey(bank), key)
}
