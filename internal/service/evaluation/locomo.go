package evaluation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
)

// Categories of questions. The conversation does not answer adversarial ones.
const (
	MultiHop    = 1
	Temporal    = 2
	OpenDomain  = 3
	SingleHop   = 4
	Adversarial = 5
)

// LocomoSample is one conversation with its questions.
type LocomoSample struct {
	ID           string
	Conversation transcript.Conversation // a message's ID is its dia_id, its Name the speaker
	Questions    []LocomoQuestion
}

// LocomoQuestion is a question about a conversation.
type LocomoQuestion struct {
	Text     string
	Answer   string // empty for adversarial questions
	Category int
	Evidence []int // sequence numbers of the turns with the answer, ascending, without unknown IDs
}

type wireSample struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	QA           []struct {
		Question string          `json:"question"`
		Answer   json.RawMessage `json:"answer"`
		Evidence []string        `json:"evidence"`
		Category int             `json:"category"`
	} `json:"qa"`
}

type wireTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"` // description of the picture of the turn
}

// OpenLocomo reads samples from the file at path.
func OpenLocomo(path string) ([]LocomoSample, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, "cannot open the data file",
			"use a file of snap-research/locomo, for example locomo10.json")
	}
	defer file.Close()
	samples, err := ReadLocomo(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, path+" is not a LoCoMo file",
			"use a JSON array of objects with `conversation` and `qa`")
	}
	return samples, nil
}

// ReadLocomo reads LoCoMo files (snap-research/locomo). A sample is a long conversation between
// two people, in sessions, with questions and the turns that contain the answers.
func ReadLocomo(from io.Reader) ([]LocomoSample, error) {
	var wire []wireSample
	in := json.NewDecoder(from)
	if err := in.Decode(&wire); err != nil {
		return nil, fmt.Errorf("read the JSON: %w", err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("unexpected data after the array")
	}
	if len(wire) == 0 {
		return nil, fmt.Errorf("file has no conversations")
	}
	out := make([]LocomoSample, len(wire))
	seen := map[string]bool{}
	for i, w := range wire {
		if w.ID == "" {
			w.ID = fmt.Sprintf("conversation-%d", i+1)
		}
		if seen[w.ID] {
			return nil, fmt.Errorf("duplicate conversation %s", w.ID)
		}
		seen[w.ID] = true
		var err error
		if out[i], err = w.sample(); err != nil {
			return nil, fmt.Errorf("conversation %s: %w", w.ID, err)
		}
	}
	return out, nil
}

func (w wireSample) sample() (LocomoSample, error) {
	s := LocomoSample{ID: w.ID, Conversation: transcript.Conversation{ID: w.ID}}
	places := map[string]int{}
	var first string
	_ = json.Unmarshal(w.Conversation["speaker_a"], &first) // if missing, the first speaker is used
	for _, n := range w.sessions() {
		at, turns, err := w.session(n)
		if err != nil {
			return s, fmt.Errorf("session %d: %w", n, err)
		}
		for i, t := range turns {
			if t.ID == "" || t.Speaker == "" {
				return s, fmt.Errorf("session %d, turn %d has no dia_id or no speaker", n, i+1)
			}
			if _, double := places[t.ID]; double {
				return s, fmt.Errorf("session %d: duplicate turn %s", n, t.ID)
			}
			if first == "" {
				first = t.Speaker
			}
			places[t.ID] = len(s.Conversation.Messages)
			s.Conversation.Messages = append(s.Conversation.Messages, t.message(places[t.ID], at, t.Speaker == first))
		}
	}
	if len(s.Conversation.Messages) == 0 {
		return s, fmt.Errorf("no turns")
	}
	for i, q := range w.QA {
		if q.Question == "" || q.Category < MultiHop || q.Category > Adversarial {
			return s, fmt.Errorf("question %d has no text, or no category from 1 to 5", i+1)
		}
		s.Questions = append(s.Questions, LocomoQuestion{Text: q.Question, Answer: strings.Trim(string(q.Answer), `"`),
			Category: q.Category, Evidence: evidence(q.Evidence, places)})
	}
	return s, nil
}

var sessionKey = regexp.MustCompile(`^session_(\d+)$`)

// sessions returns the numbers of the sessions that have turns, ascending.
func (w wireSample) sessions() []int {
	var out []int
	for key := range w.Conversation {
		if m := sessionKey.FindStringSubmatch(key); m != nil {
			var n int
			_, _ = fmt.Sscan(m[1], &n)
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

func (w wireSample) session(n int) (at time.Time, turns []wireTurn, err error) {
	if err := json.Unmarshal(w.Conversation[fmt.Sprintf("session_%d", n)], &turns); err != nil {
		return at, nil, fmt.Errorf("read the turns: %w", err)
	}
	var when string
	if raw, ok := w.Conversation[fmt.Sprintf("session_%d_date_time", n)]; ok {
		if err := json.Unmarshal(raw, &when); err != nil {
			return at, nil, fmt.Errorf("read the time: %w", err)
		}
		if at, err = time.Parse("3:04 pm on 2 January, 2006", when); err != nil {
			return at, nil, fmt.Errorf("read the time: %w", err)
		}
	}
	return at, turns, nil
}

// message returns a turn as a message. All turns have the time of the session, because the file
// contains no other.
func (t wireTurn) message(seq int, at time.Time, first bool) transcript.Message {
	m := transcript.Message{ID: t.ID, Seq: seq, Role: transcript.Assistant, Name: t.Speaker, Content: t.Text, Time: at}
	if first {
		m.Role = transcript.User
	}
	if t.Caption != "" {
		m.Content = strings.TrimSpace(m.Content + " [image: " + t.Caption + "]")
	}
	return m
}

// turnID matches the IDs in an annotation: "D8:6; D9:17" contains two.
var turnID = regexp.MustCompile(`D\d+:\d+`)

func evidence(raw []string, places map[string]int) []int {
	out := []int{}
	for _, entry := range raw {
		for _, id := range turnID.FindAllString(entry, -1) {
			if seq, ok := places[id]; ok {
				out = append(out, seq)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
