package settings

// Gate selects the writes that need approval.
type Gate string

const (
	GateOff        Gate = "off"
	GateAutonomous Gate = "autonomous" // only writes of background runs
	GateAll        Gate = "all"        // every write except a person's own
)

// Stages reports whether a write needs approval. A write of a person, by command line or API, never
// does. An unknown gate stages every other write.
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
