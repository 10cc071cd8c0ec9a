package memoryskill

// Over lays what is the bank's own over a shared bank: the skills that are there
// as they are, but a skill of the bank's own stands in place of one of its name,
// or beside them. Own is what no version of the shared bank ever held; what came
// from there earlier gives way to what is there now.
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
