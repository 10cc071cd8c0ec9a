package bank

import (
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/executor"
)

// Extensions replace parts of memory building and learning. nil means the built-in part, which
// calls the model of the run.
type Extensions struct {
	Executor executor.Executor
	Designer designer.Designer
	Judge    designer.Judge
}
