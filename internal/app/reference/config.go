package reference

import (
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"cairn/internal/app/config"
	"cairn/internal/domain/settings"
)

// configPage describes the environment variables.
func configPage(p *page, root string) error {
	described, err := fields(filepath.Join(root, "internal/app/config"))
	if err != nil {
		return err
	}
	p.heading(1, "Configuration")
	p.paragraph("All programs read environment variables. The file `cairn.env`, or the file that `CAIRN_CONFIG` " +
		"names, holds `NAME=value` lines with the same names. Environment variables override the file, and flags " +
		"override both. `cairn config` prints the configuration in effect.")
	p.paragraph("A duration has a unit, such as `30s`, `5m` or `24h`. A switch is `on` or `off`. To change settings " +
		"of one workspace, see [settings](settings.md).")
	allowed := config.Values()
	section := ""
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			p.heading(2, section)
			p.table([]string{"Variable", "Type", "Default", "Allowed values", "Description"}, rows)
			rows = nil
		}
	}
	c := reflect.TypeFor[config.Config]()
	for i := range c.NumField() {
		f := c.Field(i)
		if !f.IsExported() {
			continue
		}
		d := described["Config."+f.Name]
		if d.section != section {
			flush()
			section = d.section
		}
		name := f.Tag.Get("env")
		if f.Tag.Get("secret") != "" {
			d.doc += " `cairn config` masks this value."
		}
		rows = append(rows, []string{quoted(name), typeName(f.Type), quoted(f.Tag.Get("envDefault")), allowed[name],
			strings.TrimSpace(d.doc)})
	}
	flush()
	p.heading(2, "Other variables")
	for _, other := range config.Others() {
		rows = append(rows, []string{quoted(other.Name), other.Description})
	}
	p.table([]string{"Variable", "Description"}, rows)
	return nil
}

func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t == reflect.TypeFor[settings.Spend]():
		return "integer or `unlimited`"
	case t.Kind() == reflect.Bool:
		return "switch"
	case t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.String:
		return "string"
	case t.Kind() == reflect.Slice:
		return "list"
	case t.Kind() == reflect.Map:
		return "object"
	}
	return "integer"
}
