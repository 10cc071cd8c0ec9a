package dump

import (
	"math"

	"cairn/internal/domain/fault"
)

// mostComponent is the highest number that a component of a stored vector can hold.
const mostComponent = 65504

// whole refuses numbers that do not fit into their columns.
func whole(line int, numbers ...int) error {
	for _, number := range numbers {
		if number < 0 || number > math.MaxInt32 {
			return wrong(line, "number %d is out of range, must be 0 to %d", number, math.MaxInt32)
		}
	}
	return nil
}

func (c *Conversation) numbers(line int) error {
	if c.Reward == nil {
		return nil
	}
	if err := fault.CheckNumber("reward", *c.Reward, -fault.MostNumber, fault.MostNumber); err != nil {
		return wrong(line, "%v", err)
	}
	return nil
}

func (m *Memory) numbers(line int) error {
	if err := fault.CheckNumber("importance", m.Importance, -fault.MostNumber, fault.MostNumber); err != nil {
		return wrong(line, "%v", err)
	}
	for _, component := range m.Vector {
		if err := fault.CheckNumber("vector", float64(component), -mostComponent, mostComponent); err != nil {
			return wrong(line, "%v", err)
		}
	}
	stored := []int{m.Version, m.Retrieved}
	evidence := []*Evidence{m.Evidence}
	for _, r := range m.Revisions {
		stored, evidence = append(stored, r.Version), append(evidence, r.Evidence)
	}
	for _, e := range evidence {
		if e == nil {
			continue
		}
		if e.ToSeq < e.FromSeq {
			return wrong(line, "evidence of memory %s ends before it begins", m.ID)
		}
		stored = append(stored, e.FromSeq, e.ToSeq)
	}
	return whole(line, stored...)
}
