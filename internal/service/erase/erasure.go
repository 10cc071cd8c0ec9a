package erase

// Choices for memories and skills that were derived from the conversation only. Those with other
// sources are kept and lose this source.

// Execution is one open workflow.
type Execution struct {
	Workflow string
	Run      string // Temporal run ID
}
