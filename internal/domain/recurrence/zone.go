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

// zoneNames are the names in the zone file of the Go release, one on each line. They are used for
// suggestions and tests. A machine whose zone files have a newer name can use that name.
//
//go:embed zones.txt
var zoneNames string

// Zones returns the names of the time zones that every machine knows, sorted.
func Zones() []string { return strings.Fields(zoneNames) }

// maxZone exceeds the length of every name, in bytes.
const maxZone = 100

// Zone returns a time zone by its IANA name. It rejects the machine's local zone, which differs
// between machines, and spellings that only some machines know. The error's Extra may have a
// "suggestion".
func Zone(name string) (*time.Location, error) {
	if len(name) > maxZone {
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the time zone has %d bytes, at most %d are allowed", len(name), maxZone),
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
	refused := fault.New(fault.InvalidArgument, fmt.Sprintf("unknown time zone %q", name),
		"use a name such as Asia/Shanghai").With("part", name)
	switch {
	case name == "":
		refused.Message = "the time zone is empty"
	case strings.EqualFold(name, "local"):
		refused.Message = fmt.Sprintf("the time zone %q differs between machines", name)
	case canonical != "":
		refused.Hint = "use " + canonical
		return nil, refused.With("suggestion", canonical)
	case strings.ContainsAny(name, "+-0123456789:"):
		refused.Hint = "use a place, such as Asia/Shanghai, or UTC; an offset has no clock changes"
	case strings.Contains(name, "/") && !ofSomeMachines(name):
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	return nil, refused
}

// ofSomeMachines reports whether name is a variant that an operating system may have in the folder
// of the zones, some with leap seconds.
func ofSomeMachines(name string) bool {
	return strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/")
}

// suggestZone returns the known zone with that name in any case, or with that city.
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
