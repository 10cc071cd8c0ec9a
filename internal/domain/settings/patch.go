package settings

import (
	"bytes"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
)

// Document is the settings as people and programs see and change them: all of
// them, the time zone among them.
type Document struct {
	Settings
	TimeZone       string `json:"time_zone"`       // IANA name
	ReflectionCron string `json:"reflection_cron"` // of the daily reflection, one time of day
}

// DocumentOf is s as it is shown.
func DocumentOf(s Settings) Document {
	return Document{Settings: s, TimeZone: s.TimeZone, ReflectionCron: s.ReflectionCron}
}

// Patch changes the members that patch names (RFC 7396): null gives a member
// its default back, what is not named stays. A member that does not exist, or
// has another type, is refused, and so is a result that cannot be meant.
func Patch(s Settings, patch json.RawMessage) (Settings, error) {
	if err := fits(patch); err != nil {
		return s, err
	}
	var changes map[string]any
	if err := decodeNumbers(patch, &changes); err != nil || changes == nil {
		return s, fault.New(fault.InvalidArgument, "a change of settings is one JSON object",
			`such as {"nudge":{"every":5}}`)
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

// fits refuses a patch that does not look like the document.
func fits(patch json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(patch))
	d.DisallowUnknownFields()
	var into Document
	if err := d.Decode(&into); err != nil {
		return fault.New(fault.InvalidArgument, "the settings cannot be changed like this: "+err.Error(),
			"`cairn settings show -o json` has every setting with its type")
	}
	return nil
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
	d.UseNumber() // a limit is a whole number of any size
	return d.Decode(into)
}
