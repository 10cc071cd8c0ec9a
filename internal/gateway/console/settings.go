package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/settings"
)

func (c *Console) settingsRoutes() {
	c.handle("GET settings", access.Read, c.showSettings)
	c.handle("POST settings", access.Admin, c.changeSetting)
	c.handle("POST settings/check", access.Admin, c.checkSetting)
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

func (c *Console) showSettings(rq *request) error { return c.renderSettings(rq, nil) }

// renderSettings shows the settings, and the change that is to be confirmed.
func (c *Console) renderSettings(rq *request, change *table) error {
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
	about := map[string]settings.Description{}
	for _, d := range settings.Descriptions() {
		about[d.Name] = d
	}
	t := table{ID: "settings", Title: "settings.title", Empty: "settings.title",
		Columns: []string{"col.name", "settings.value", "settings.default", "settings.meaning"}}
	var names []option
	for _, name := range slices.Sorted(maps.Keys(now)) {
		value := cell{Text: now[name]}
		if now[name] != usual[name] {
			value.Tag = "tag-review"
		}
		t.Rows = append(t.Rows, []cell{{Text: name, Quiet: about[name].Type}, value, plain(usual[name]),
			{Text: about[name].Text}})
		names = append(names, option{name, name, name == rq.typed("name", rq.text("name"))})
	}
	out := grid{About: "settings.about"}
	if change != nil {
		change.Form = &form{ID: "confirm", Path: rq.path("settings"),
			Hidden: [][2]string{{"name", rq.posted("name")}, {"value", rq.posted("value")}},
			Button: rq.button(access.Admin, "settings.confirm", "primary", "")}
		out.Tables = append(out.Tables, *change)
	}
	out.Tables = append(out.Tables, t)
	out.Forms = append(out.Forms, form{ID: "change", Title: "settings.change", Path: rq.path("settings", "check"),
		Button: rq.button(access.Admin, "settings.check", "primary", ""),
		Fields: []field{{Name: "name", Label: "col.name", Kind: "select", Options: names},
			{Name: "value", Label: "settings.value", Kind: "text", Value: rq.posted("value"), Hint: "settings.json"}}})
	return rq.render("grid", "settings.title", out)
}

// patch returns the change of one setting in the form. An empty value restores its default.
func (rq *request) patch() (json.RawMessage, error) {
	name, text := rq.r.PostFormValue("name"), strings.TrimSpace(rq.r.PostFormValue("value"))
	if text == "" {
		text = "null"
	}
	if !json.Valid([]byte(text)) {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid value %.60q", text),
			`use JSON: a number, true, false, or a text in quotes such as "Europe/Berlin"`)
	}
	patch := json.RawMessage(text)
	for _, part := range slices.Backward(strings.Split(name, ".")) {
		wrapped, err := json.Marshal(map[string]json.RawMessage{part: patch})
		if err != nil {
			return nil, fmt.Errorf("encode the patch: %w", err)
		}
		patch = wrapped
	}
	return patch, nil
}

// checkSetting shows what a change of a setting does, before it is saved.
func (c *Console) checkSetting(rq *request) error {
	patch, err := rq.patch()
	if err != nil {
		return rq.again(err, c.showSettings)
	}
	was, is, err := c.Workspaces.PreviewSettings(rq.ctx, rq.ws(), patch)
	if err != nil {
		return rq.again(err, c.showSettings)
	}
	before, err := flat(was)
	if err != nil {
		return err
	}
	after, err := flat(is)
	if err != nil {
		return err
	}
	t := table{ID: "change-now", Title: "settings.diff", Empty: "settings.same",
		Columns: []string{"col.name", "settings.before", "settings.after"}}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] != after[name] {
			t.Rows = append(t.Rows, []cell{plain(name), plain(before[name]), {Text: after[name], Tag: "tag-review"}})
		}
	}
	return c.renderSettings(rq, &t)
}

// changeSetting changes one setting.
func (c *Console) changeSetting(rq *request) error {
	patch, err := rq.patch()
	if err != nil {
		return rq.again(err, c.showSettings)
	}
	if _, err := c.Workspaces.ChangeSettings(rq.ctx, rq.ws(), patch); err != nil {
		return rq.again(err, c.showSettings)
	}
	return rq.redirect("saved", "settings")
}
