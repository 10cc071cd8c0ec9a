package memory

// Task is what one specialist is to look after.
type Task struct {
	Type   Type   `json:"memory_type"`
	Target string `json:"memory_target"`
}

// HandOffTypes have a specialist each.
var HandOffTypes = []Type{Identity, Personal, Procedural, Guideline}
