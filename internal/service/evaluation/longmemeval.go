package evaluation

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
)

// LongMemEvalSample is one question with its history.
type LongMemEvalSample struct {
	ID           string
	Kind         string // for example multi-session or temporal-reasoning
	Conversation transcript.Conversation
	Question     string
	Answer       string
	Asked        time.Time // day of the question; zero if unknown
	Evidence     []int     // sequence numbers of the turns that contain the answer
}

// Unanswerable reports whether the history does not contain the answer. The published scores
// exclude such questions.
func (s LongMemEvalSample) Unanswerable() bool { return strings.HasSuffix(s.ID, "_abs") }

type longMemEvalWire struct {
	ID       string          `json:"question_id"`
	Kind     string          `json:"question_type"`
	Question string          `json:"question"`
	Answer   json.RawMessage `json:"answer"`
	Asked    string          `json:"question_date"`
	Dates    []string        `json:"haystack_dates"`
	Sessions [][]struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Answer  bool   `json:"has_answer"`
	} `json:"haystack_sessions"`
}

// dayForm is the time format of the files: 2023/05/20 (Sat) 02:21.
const dayForm = "2006/01/02 (Mon) 15:04"

// OpenLongMemEval reads samples from the file at path.
func OpenLongMemEval(path string) ([]LongMemEvalSample, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, "cannot open the data file",
			"use a LongMemEval file, for example longmemeval_s.json")
	}
	defer file.Close()
	out, err := ReadLongMemEval(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, path+" is not a LongMemEval file",
			"use a JSON array of objects with `question_id` and `haystack_sessions`")
	}
	return out, nil
}

// ReadLongMemEval reads LongMemEval files (xiaowu0162/LongMemEval). A sample is a question and
// a history of dated sessions between a user and an assistant.
func ReadLongMemEval(from io.Reader) (out []LongMemEvalSample, err error) {
	var all []longMemEvalWire
	if err := json.NewDecoder(from).Decode(&all); err != nil {
		return nil, fmt.Errorf("read the JSON: %w", err)
	}
	seen := map[string]bool{}
	for i, w := range all {
		if w.ID == "" || w.Question == "" || seen[w.ID] {
			return nil, fmt.Errorf("question %d has no unique ID or no text", i+1)
		}
		seen[w.ID] = true
		s, err := w.sample()
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", w.ID, err)
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("file has no questions")
	}
	return out, nil
}

func (w longMemEvalWire) sample() (s LongMemEvalSample, err error) {
	s = LongMemEvalSample{ID: w.ID, Kind: w.Kind, Question: w.Question, Answer: text(w.Answer),
		Conversation: transcript.Conversation{ID: w.ID}}
	if w.Asked != "" {
		if s.Asked, err = time.Parse(dayForm, w.Asked); err != nil {
			return s, fmt.Errorf("read the day of the question: %w", err)
		}
	}
	if len(w.Dates) > 0 && len(w.Dates) != len(w.Sessions) {
		return s, fmt.Errorf("%d dates for %d sessions", len(w.Dates), len(w.Sessions))
	}
	for i, session := range w.Sessions {
		var at time.Time
		if len(w.Dates) > 0 {
			if at, err = time.Parse(dayForm, w.Dates[i]); err != nil {
				return s, fmt.Errorf("session %d: read the time: %w", i+1, err)
			}
		}
		for n, turn := range session {
			role := transcript.Role(turn.Role)
			if role != transcript.User && role != transcript.Assistant {
				return s, fmt.Errorf("session %d, turn %d: role must be user or assistant", i+1, n+1)
			}
			seq := len(s.Conversation.Messages)
			if turn.Answer {
				s.Evidence = append(s.Evidence, seq)
			}
			s.Conversation.Messages = append(s.Conversation.Messages,
				transcript.Message{Seq: seq, Role: role, Content: turn.Content, Time: at})
		}
	}
	if len(s.Conversation.Messages) == 0 {
		return s, fmt.Errorf("question has no history")
	}
	return s, nil
}

// text returns a JSON string as it is, and a number as it is written.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
