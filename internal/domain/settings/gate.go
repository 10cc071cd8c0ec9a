package settings

// Gate says which writes wait for a person.
type Gate string

const (
	GateOff        Gate = "off"
	GateAutonomous Gate = "autonomous" // those that nobody watches
	GateAll        Gate = "all"        // everybody's but a person's own
)

// Stages tells whether a write waits. Who is a person at the command line or
// API approves by writing. A gate that is not known holds everything back.
func (g Gate) Stages(person, autonomous bool) bool {
	switch {
	case person || g == GateOff || g == "":
		return false
	case g == GateAutonomous:
		return autonomous
	}
	return true
}

func (g Gate) known() bool {
	return g == "" || g == GateOff || g == GateAutonomous || g == GateAll
}
