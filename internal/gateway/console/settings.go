package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/settings"
	"cairn/internal/service/apikey"
)

func (c *Console) settingsRoutes() {
	c.handle("GET settings", apikey.Read, c.showSettings)
	c.handle("POST settings", apikey.Admin, c.changeSetting)
}

// flat returns the settings by their dotted names, as JSON.
func flat(s settings.Settings) (map[string]string, error) {
	raw, err := json.Marshal(settings.DocumentOf(s))
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("decode the settings: %w", err)
	}
	out := map[string]string{}
	return out, flatten(out, "", all)
}

func flatten(out map[string]string, prefix string, all map[string]any) error {
	for name, value := range all {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			if err := flatten(out, prefix+name+".", inner); err != nil {
				return err
			}
			continue
		}
		raw, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("encode the setting %s%s: %w", prefix, name, err)
		}
		out[prefix+name] = string(raw)
	}
	return nil
}

func (c *Console) showSettings(rq *request) error {
	s, err := c.Workspaces.Settings(rq.ctx, rq.ws())
	if err != nil {
		return err
	}
	now, err := flat(s)
	if err != nil {
		return err
	}
	usual, err := flat(settings.Default())
	if err != nil {
		return err
	}
	t := table{ID: "settings", Title: "settings.title", Empty: "settings.title",
		Columns: []string{"col.name", "settings.value", "settings.default"}}
	var names []option
	for _, name := range slices.Sorted(maps.Keys(now)) {
		value := cell{Text: now[name]}
		if now[name] != usual[name] {
			value.Tag = "tag-review"
		}
		t.Rows = append(t.Rows, []cell{plain(name), value, plain(usual[name])})
		names = append(names, option{name, name, name == rq.typed("name", rq.text("name"))})
	}
	return rq.render("grid", "settings.title", grid{About: "settings.about", Tables: []table{t}, Forms: []form{{
		ID: "change", Title: "settings.change", Path: rq.path("settings"),
		Button: rq.button(apikey.Admin, "memory.save", "primary", ""),
		Fields: []field{{Name: "name", Label: "col.name", Kind: "select", Options: names},
			{Name: "value", Label: "settings.value", Kind: "text", Value: rq.typed("value", ""),
				Hint: "settings.json"}}}}})
}

// changeSetting changes one setting. An empty value restores its default.
func (c *Console) changeSetting(rq *request) error {
	name, text := rq.r.PostFormValue("name"), strings.TrimSpace(rq.r.PostFormValue("value"))
	if text == "" {
		text = "null"
	}
	if !json.Valid([]byte(text)) {
		return rq.again(fault.New(fault.InvalidArgument, fmt.Sprintf("invalid value %.60q", text),
			`use JSON: a number, true, false, or a text in quotes such as "Europe/Berlin"`), c.showSettings)
	}
	patch := json.RawMessage(text)
	parts := strings.Split(name, ".")
	for _, part := range slices.Backward(parts) {
		wrapped, err := json.Marshal(map[string]json.RawMessage{part: patch})
		if err != nil {
			return fmt.Errorf("encode the patch: %w", err)
		}
		patch = wrapped
	}
	if _, err := c.Workspaces.ChangeSettings(rq.ctx, rq.ws(), patch); err != nil {
		return rq.again(err, c.showSettings)
	}
	return rq.redirect("saved", "settings")
}
