package recurrence

import (
	_ "embed"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a machine without zone files knows the same zones

	"cairn/internal/domain/fault"
)

//go:generate go run zones_generate.go

// zoneNames are the names in the zone file of the Go release, one a line. They
// are for suggestions and tests: a machine whose own zone files know a newer
// name may use it.
//
//go:embed zones.txt
var zoneNames string

// Zones lists the names of the time zones that every machine knows, sorted.
func Zones() []string { return strings.Fields(zoneNames) }

// maxZone is far longer than any name.
const maxZone = 100

// Zone finds a time zone by its IANA name. The machine's own zone is refused,
// for it is another on another machine, and so is every spelling that only some
// machines know. The error's Extra has a "suggestion" when there is one.
func Zone(name string) (*time.Location, error) {
	if len(name) > maxZone {
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the time zone has %d bytes, and %d is the most", len(name), maxZone),
			"use a name such as Asia/Shanghai")
	}
	canonical := suggestZone(name)
	if canonical == name && name != "" {
		zone, err := time.LoadLocation(name)
		if err != nil {
			return nil, fmt.Errorf("load the time zone %q: %w", name, err)
		}
		return zone, nil
	}
	refused := fault.New(fault.InvalidArgument, fmt.Sprintf("there is no time zone %q", name),
		"use a name such as Asia/Shanghai").With("part", name)
	switch {
	case name == "":
		refused.Message = "the time zone is empty"
	case strings.EqualFold(name, "local"):
		refused.Message = fmt.Sprintf("the time zone %q is another on each machine", name)
	case canonical != "":
		refused.Hint = "did you mean " + canonical + "?"
		return nil, refused.With("suggestion", canonical)
	case strings.ContainsAny(name, "+-0123456789:"):
		refused.Hint = "an offset knows no clock changes: use a place, such as Asia/Shanghai, or UTC"
	case strings.Contains(name, "/") && !ofSomeMachines(name):
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, refused
}

// ofSomeMachines is about variants beside the zones proper, some with leap
// seconds, that an operating system may have in the same folder.
func ofSomeMachines(name string) bool {
	return strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
}

// suggestZone finds the known zone with that name in any case, or of that city.
func suggestZone(name string) string {
	asked := strings.ReplaceAll(strings.TrimSpace(name), " ", "_")
	city := ""
	for _, known := range Zones() {
		if known == name {
			return known
		}
	}
	for _, known := range Zones() {
		if strings.EqualFold(known, asked) {
			return known
		}
		if asked != "" && strings.EqualFold(known[strings.LastIndex(known, "/")+1:], asked) {
			city = known
		}
	}
	return city
}
