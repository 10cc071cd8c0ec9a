package memory

// Task is the assignment of one specialist.
type Task struct {
	Type   Type   `json:"memory_type"`
	Target string `json:"memory_target"`
}

// HandOffTypes are the types that have a specialist.
var HandOffTypes = []Type{Identity, Personal, Procedural, Guideline}
