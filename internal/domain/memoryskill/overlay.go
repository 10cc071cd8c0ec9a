package memoryskill

// Over returns a bank with the skills of a shared bank and this bank's own skills. An own skill
// replaces a shared skill of the same name. A version is own if ever returns false for its ID, that
// is, if no version of the shared bank contained it. Versions from earlier shared banks are
// replaced by the current ones.
func (b Bank) Over(shared Bank, ever func(id string) bool) (Bank, error) {
	var versions []Version
	for _, v := range b.versions {
		if !ever(v.ID) {
			versions = append(versions, v)
		}
	}
	own, err := NewBank(b.capacity, versions...)
	if err != nil {
		return b, err
	}
	for _, v := range shared.versions {
		if _, covered := own.find(v.Skill.Name); !covered {
			versions = append(versions, v)
		}
	}
	after, err := NewBank(b.capacity, versions...)
	if err != nil || after.Hash() == b.Hash() {
		return b, err
	}
	after.parent = b.Hash()
	return after, nil
}
