package llm

// Roles says which model does what: one for everything, others for single
// roles such as "nudge", "extract" or "judge".
type Roles struct {
	Default string
	ByRole  map[string]string // empty names mean Default
}

// For names the model of a role.
func (r Roles) For(role string) string {
	if name := r.ByRole[role]; name != "" {
		return name
	}
	return r.Default
}
