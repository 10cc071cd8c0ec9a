package evaluation

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
)

// Trajectory is one recorded episode.
type Trajectory struct {
	ID          string `json:"id"`
	Type        string `json:"task_type"`
	Task        string `json:"task"`
	Observation string `json:"observation"` // first observation
	Steps       []Step `json:"steps"`
	Success     *bool  `json:"success"`
}

// Step is an action and the observation that follows it.
type Step struct {
	Action      string `json:"action"`
	Observation string `json:"observation"`
}

// Key identifies the trajectory. IDs are unique only within a type.
func (t Trajectory) Key() string { return t.Type + "::" + t.ID }

// Text returns the trajectory as text for memory.
func (t Trajectory) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Task: %s\nObservation: %s\n", t.Task, t.Observation)
	for _, s := range t.Steps {
		fmt.Fprintf(&b, "Action: %s\nObservation: %s\n", s.Action, s.Observation)
	}
	fmt.Fprintf(&b, "Success: %t\n", *t.Success)
	return b.String()
}

// OpenAlfworld reads trajectories from the file at path.
func OpenAlfworld(path string) ([]Trajectory, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, "cannot open the data file",
			"use the path of a file with recorded trajectories")
	}
	defer file.Close()
	out, err := ReadAlfworld(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, path+" is not a trajectory file",
			"use a JSON array of objects with `id`, `task`, `steps` and `success`")
	}
	return out, nil
}

// ReadAlfworld reads recorded trajectories of ALFWorld. A file is a JSON array of objects with
// the task, its type, the first observation, the steps (action and observation), and whether the
// task succeeded.
//
//	[{"id": "g1", "task_type": "pick_and_place", "task": "put a mug on the desk", "observation": "You are in…",
//	  "steps": [{"action": "go to desk 1", "observation": "On the desk 1…"}], "success": true}]
func ReadAlfworld(from io.Reader) (out []Trajectory, err error) {
	if err := json.NewDecoder(from).Decode(&out); err != nil {
		return nil, fmt.Errorf("read the JSON: %w", err)
	}
	seen := map[string]bool{}
	for i, t := range out {
		switch {
		case t.ID == "" || t.Task == "" || t.Observation == "":
			return nil, fmt.Errorf("trajectory %d has no id, no task or no first observation", i+1)
		case t.Success == nil:
			return nil, fmt.Errorf("trajectory %d has no success", i+1)
		case seen[t.Key()]:
			return nil, fmt.Errorf("duplicate trajectory %s", t.Key())
		}
		seen[t.Key()] = true
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("file has no trajectories")
	}
	return out, nil
}

// SuccessRate returns the share of successful trajectories, 0 to 1, and the mean number of steps.
func SuccessRate(all []Trajectory) (rate, steps float64) {
	var done []bool
	for _, t := range all {
		done = append(done, *t.Success)
		steps += float64(len(t.Steps)) / float64(len(all))
	}
	rate, _ = Success(done)
	return rate, steps
}

// Pack joins whole trajectories, in order, up to the given number of tokens per text. A longer
// trajectory is a text of its own.
func Pack(all []Trajectory, tokens int) (out []string) {
	left := 0
	for _, t := range all {
		text := t.Text()
		n := llm.EstimateTokens(text)
		if len(out) > 0 && n <= left {
			out[len(out)-1] += "\n" + text
			left -= n
			continue
		}
		out, left = append(out, text), tokens-n
	}
	return out
}

// Choose returns the admissible command that a reply means: an exact match, or the longest command
// that the reply contains between word boundaries, so that "drawer 10" does not match "drawer 1".
// It returns "" if there is none.
func Choose(reply string, admissible []string) (best string) {
	for line := range strings.Lines(reply) {
		for _, a := range admissible {
			if strings.EqualFold(strings.TrimSpace(line), a) {
				return a
			}
		}
	}
	low := " " + strings.Join(strings.FieldsFunc(strings.ToLower(reply), notWord), " ") + " "
	for _, a := range admissible {
		words := " " + strings.Join(strings.FieldsFunc(strings.ToLower(a), notWord), " ") + " "
		if len(a) > len(best) && strings.Contains(low, words) {
			best = a
		}
	}
	return best
}

func notWord(r rune) bool { return strings.ContainsRune(" \t\n.,;:!?\"'`*()", r) }
