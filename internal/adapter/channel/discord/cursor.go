package discord

import (
	"encoding/json"

	"github.com/disgoorg/snowflake/v2"
)

// maxChannels is the number of channels in the cursor. The ones with the oldest messages are forgotten.
const maxChannels = 200

// state is the content of the cursor. Without a session it is where a new session continues.
type state struct {
	Session string `json:"session,omitempty"`
	URL     string `json:"url,omitempty"` // to resume at
	Seq     int    `json:"seq,omitempty"` // of the last stored event
	// Last has the last stored message of each known channel.
	Last map[snowflake.ID]snowflake.ID `json:"last,omitempty"`
}

// decodeState reads a cursor. An unreadable one begins from now.
func decodeState(cursor string) (s state) {
	if err := json.Unmarshal([]byte(cursor), &s); err != nil {
		s = state{}
	}
	if s.Last == nil {
		s.Last = map[snowflake.ID]snowflake.ID{}
	}
	return s
}

func (s *state) encode() string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers can be encoded
	}
	return string(raw)
}

// forget ends the session. The channels stay.
func (s *state) forget() { s.Session, s.URL, s.Seq = "", "", 0 }

// note makes a message the last one of its channel.
func (s *state) note(channel, message snowflake.ID) {
	if message <= s.Last[channel] {
		return
	}
	s.Last[channel] = message
	if len(s.Last) <= maxChannels {
		return
	}
	oldest := channel
	for c, m := range s.Last {
		if m < s.Last[oldest] {
			oldest = c
		}
	}
	delete(s.Last, oldest)
}
