package llm

// Roles maps roles, such as "nudge", "extract" or "judge", to models. Default is used for all other
// roles.
type Roles struct {
	Default string
	ByRole  map[string]string // an empty name means Default
}

// For returns the model of a role.
func (r Roles) For(role string) string {
	if name := r.ByRole[role]; name != "" {
		return name
	}
	return r.Default
}
