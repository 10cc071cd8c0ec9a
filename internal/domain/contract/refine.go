package contract

// Refine refines the results of a fast search: one model call reranks them, and one condenses them
// to a text. RefineInput → RefineResult.
const Refine = "Refine"

// Activities of Refine.
const (
	RerankFound   = "RerankFound"   // RunRef → RerankResult
	CondenseFound = "CondenseFound" // CondenseInput
	CloseRefine   = "CloseRefine"   // CloseRefineInput
)

// RefineInput starts Refine.
type RefineInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
	Rerank   bool         `json:"rerank,omitempty"`
	Rewrite  bool         `json:"rewrite,omitempty"`
}

// Place is the rank of a candidate, which is identified by its number in the run's row.
type Place struct {
	Candidate int     `json:"candidate"`
	Score     float64 `json:"score"` // 0 to 1
}

// RerankResult is the new order, or the reason why there is none.
type RerankResult struct {
	Order   []Place `json:"order,omitempty"`
	Problem string  `json:"problem,omitempty"`
}

// CondenseInput requests a text from the remaining candidates.
type CondenseInput struct {
	RunRef
	Order []Place `json:"order,omitempty"`
}

// CloseRefineInput closes the run without a text.
type CloseRefineInput struct {
	RunRef
	Order   []Place `json:"order,omitempty"`
	Problem string  `json:"problem,omitempty"`
}

// RefineResult is the result of Refine.
type RefineResult struct {
	Problem string `json:"problem,omitempty"`
}
