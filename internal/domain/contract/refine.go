package contract

// Refine has a model go over what a fast search found: one call orders it, one
// writes it as a text. RefineInput → RefineResult.
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

// Place is a candidate in a model's order, by its number in the run's row.
type Place struct {
	Candidate int     `json:"candidate"`
	Score     float64 `json:"score"` // 0 to 1
}

// RerankResult is that order, or why there is none.
type RerankResult struct {
	Order   []Place `json:"order,omitempty"`
	Problem string  `json:"problem,omitempty"`
}

// CondenseInput asks for a text of what is left.
type CondenseInput struct {
	RunRef
	Order []Place `json:"order,omitempty"`
}

// CloseRefineInput ends the run without a text.
type CloseRefineInput struct {
	RunRef
	Order   []Place `json:"order,omitempty"`
	Problem string  `json:"problem,omitempty"`
}

// RefineResult is what Refine could do.
type RefineResult struct {
	Problem string `json:"problem,omitempty"`
}
