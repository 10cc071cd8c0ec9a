package erase

// Execution is one open workflow.
type Execution struct {
	Workflow string
	Run      string // Temporal run ID
}
