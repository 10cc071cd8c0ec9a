package devstack

import (
	"fmt"
	"regexp"
	"strconv"
)

// version is the part of a version number that is compared with a requirement.
type version struct{ major, minor, patch int }

// The minimum versions. pgvector 0.8.0 added iterative index scans; Temporal 1.28 has
// Update-with-Start.
var (
	needPostgres = version{major: 15}
	needVector   = version{minor: 8}
	needTemporal = version{major: 1, minor: 28}
)

var versionNumber = regexp.MustCompile(`(\d+)(?:\.(\d+))?(?:\.(\d+))?`)

// parseVersion returns the first version number in text, or zero if there is none.
func parseVersion(text string) version {
	var v version
	if found := versionNumber.FindStringSubmatch(text); found != nil {
		v.major, _ = strconv.Atoi(found[1])
		v.minor, _ = strconv.Atoi(found[2])
		v.patch, _ = strconv.Atoi(found[3])
	}
	return v
}

func (v version) atLeast(need version) bool {
	if v.major != need.major {
		return v.major > need.major
	}
	if v.minor != need.minor {
		return v.minor > need.minor
	}
	return v.patch >= need.patch
}

func (v version) String() string {
	if v.patch == 0 && v.major >= 10 { // PostgreSQL since 10: major.minor
		return fmt.Sprintf("%d.%d", v.major, v.minor)
	}
	return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch)
}
