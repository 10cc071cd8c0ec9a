package memoryskill

// Kinds of difference between two banks.
const (
	Added   = "added"
	Refined = "refined"
	Removed = "removed"
)

// Difference is the change of one skill between two banks.
type Difference struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"`
	Before Version `json:"before,omitzero"` // empty if the skill was added
	After  Version `json:"after,omitzero"`  // empty if the skill was removed
}

// Differences returns the changes between two banks, by name.
func Differences(from, to Bank) []Difference {
	var all []Difference
	i, j := 0, 0
	for i < len(from.versions) || j < len(to.versions) {
		switch {
		case j == len(to.versions) || i < len(from.versions) && from.versions[i].Skill.Name < to.versions[j].Skill.Name:
			all = append(all, Difference{Name: from.versions[i].Skill.Name, Kind: Removed, Before: from.versions[i]})
			i++
		case i == len(from.versions) || to.versions[j].Skill.Name < from.versions[i].Skill.Name:
			all = append(all, Difference{Name: to.versions[j].Skill.Name, Kind: Added, After: to.versions[j]})
			j++
		default:
			if from.versions[i].ID != to.versions[j].ID {
				all = append(all, Difference{Name: to.versions[j].Skill.Name, Kind: Refined, Before: from.versions[i],
					After: to.versions[j]})
			}
			i, j = i+1, j+1
		}
	}
	return all
}

// Fresh returns the IDs of the versions that get the exploration bias: added versions and, unless
// addedOnly is set, refined ones.
func Fresh(differences []Difference, addedOnly bool) []string {
	var ids []string
	for _, d := range differences {
		if d.Kind == Added || d.Kind == Refined && !addedOnly {
			ids = append(ids, d.After.ID)
		}
	}
	return ids
}
