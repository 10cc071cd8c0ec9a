package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"cairn/internal/domain/fault"
)

// Document is the complete settings of a workspace as the API and the command line show and change
// them.
type Document struct {
	Settings
	TimeZone       string `json:"time_zone"`       // IANA name; the default is UTC
	ReflectionCron string `json:"reflection_cron"` // schedule of the daily reflection, one time of day
}

// DocumentOf converts s to the form that users see.
func DocumentOf(s Settings) Document {
	return Document{Settings: s, TimeZone: s.TimeZone, ReflectionCron: s.ReflectionCron}
}

// Patch applies a JSON merge patch (RFC 7396) to s. A null member restores its default, and a
// member that patch does not name is unchanged. Patch returns fault.InvalidArgument for an unknown
// member, a wrong type or an invalid result.
func Patch(s Settings, patch json.RawMessage) (Settings, error) {
	var changes map[string]any
	if err := decodeNumbers(patch, &changes); err != nil || changes == nil {
		return s, fault.New(fault.InvalidArgument, "invalid settings patch: it must be one JSON object",
			`send, for example, {"nudge":{"every":5}}`)
	}
	if err := checkMembers("", reflect.TypeFor[Document](), changes); err != nil {
		return s, err
	}
	chosen, err := Write(s)
	if err != nil {
		return s, err
	}
	var document map[string]any
	if err := decodeNumbers(chosen, &document); err != nil {
		return s, fmt.Errorf("decode the settings: %w", err)
	}
	zone := s.TimeZone
	if z, named := changes["time_zone"]; named {
		if zone, _ = z.(string); zone == "" {
			zone = Default().TimeZone
		}
		delete(changes, "time_zone")
	}
	cron := s.ReflectionCron
	if c, named := changes["reflection_cron"]; named {
		if cron, _ = c.(string); cron == "" {
			cron = Default().ReflectionCron
		}
		delete(changes, "reflection_cron")
	}
	merge(document, changes)
	raw, err := json.Marshal(document)
	if err != nil {
		return s, fmt.Errorf("encode the settings: %w", err)
	}
	out, err := Read(raw)
	if err != nil {
		return s, err
	}
	out.TimeZone, out.ReflectionCron = zone, cron
	return out, out.Validate()
}

func merge(document, changes map[string]any) {
	for name, change := range changes {
		inner, nested := change.(map[string]any)
		switch {
		case change == nil:
			delete(document, name)
		case nested:
			below, _ := document[name].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			merge(below, inner)
			document[name] = below
		default:
			document[name] = change
		}
	}
}

func decodeNumbers(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // a limit may exceed the range of float64 integers
	return d.Decode(into)
}
