package guard

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	placeKey = regexp.MustCompile(`(?:^|_)(?:origin|destination|departure|arrival|airport|station|city)(?:_(?:city|` +
		`airport|station|code|iata|name|location|place))?$|(?:^|_)(?:from|to|start|end|pick_?up|drop_?off)_(?:city|` +
		`airport|station|iata|location|place)$|出发|到达|目的地|起点|终点|始发|城市|机场|车站`)
	placeShape = regexp.MustCompile(`^(?:[A-Z]{3,4}|\p{Lu}[\p{Ll}'’.-]+(?: \p{Lu}[\p{Ll}'’.-]*){0,3}|\p{Han}{2,8})$`)
	placeWords = `\p{Lu}[\p{L}'’-]+(?:[ .]{1,2}\p{Lu}[\p{L}'’-]*){0,2}`
	spoken     = regexp.MustCompile(`\b(` + placeWords + `)(?: \([A-Z]{3}\))?\s*(?:to|→|->|–|—)\s*(` + placeWords + `)`)
	spokenFrom = regexp.MustCompile(`\b[Ff]rom (` + placeWords + `) (?:[a-z]+ ){0,3}to (` + placeWords + `)`)
	spokenHan  = regexp.MustCompile(
		`(?:[从由自订查买]|^|[^\p{Han}])([\p{Han}]{2,4}?)(?:飞往|飞到|飞|前往|到|至)([\p{Han}]{2,4}?)(?:的|[，。、；！？,.\s]|$|机票|航班|` +
			`高铁|火车|出差|往返|单程)`,
	)
	travel = regexp.MustCompile(
		`(?i)\b(?:fl(?:y|ying|ights?|ew|own)|trips?|travel\w*|trains?|bus|buses|tickets?|airports?|depart\w*|` +
			`routes?|ship\w*|driv\w*|rides?|itinerar\w*|one[- ]way|round[- ]trip|layover|` +
			`reservations?)\b|飞|机票|航班|高铁|火车|行程|出差`,
	)
	// between joins the places of a route.
	between     = regexp.MustCompile(`^\s*(?:(?:and )?(?:back )?to\b|→|->|=>|–|—|-|/|至|到|飞往|飞到|飞|前往)\s*`)
	betweenAnd  = regexp.MustCompile(`^\s+and\s+`)
	airportCode = regexp.MustCompile(`^ ?[(（][A-Z]{3}[)）]`)
)

// place adds a place of a document.
func (c *collector) place(key, value string) {
	if placeKey.MatchString(key) && placeShape.MatchString(value) {
		c.places[value] = true
	}
}

// spokenRoutes adds the places of pairs such as "New York to Seattle" in prose about travel.
func (c *collector) spokenRoutes(text string) {
	if !travel.MatchString(text) {
		return
	}
	for _, pattern := range []*regexp.Regexp{spoken, spokenFrom, spokenHan} {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			for _, place := range m[1:] {
				place = strings.TrimRight(strings.TrimLeft(strings.TrimPrefix(place, "From "), "从由自"), " .")
				c.places[place] = prefixIn(weekdays, place) == 0 && monthOf(place) == 0
			}
		}
	}
}

// routes finds the pairs of places in a text, as windows of both.
func (v ValueSet) routes(text string) (found [][2]window) {
	if len(v.places) == 0 {
		return nil
	}
	for i := 0; i < len(text); {
		from, ok := v.placeAt(text, i)
		if !ok {
			i += step(text[i:])
			continue
		}
		i = from.end
		for {
			joint := between.FindString(text[from.end:])
			if joint == "" && strings.HasSuffix(strings.ToLower(text[:from.start]), "between ") {
				joint = betweenAnd.FindString(text[from.end:])
			}
			to, ok := v.placeAt(text, from.end+len(joint))
			if joint == "" || !ok {
				break
			}
			found = append(found, [2]window{from, to})
			from, i = to, to.end
		}
	}
	return found
}

// step returns the length of the word or character at the start of text.
func step(text string) int {
	if n := wordLength(text); n > 0 {
		return n
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}

// placeAt returns the place at position i, with the code in parentheses after it.
func (v ValueSet) placeAt(text string, i int) (window, bool) {
	for _, place := range v.places[firstWord(text[i:])] {
		end := i + len(place)
		if end <= len(text) && strings.EqualFold(text[i:end], place) && (endsWord(text, end) || endsHan(place)) {
			return window{i, end + len(airportCode.FindString(text[end:]))}, true
		}
	}
	return window{}, false
}

// routeLeaks finds the routes of the case.
func (v ValueSet) routeLeaks(text string) (found []leak) {
	for _, r := range v.routes(text) {
		if v.stated.routes[routeKey(text, r)] {
			continue
		}
		found = append(found, leak{r[0], term{kind: "route", label: "origin"}},
			leak{r[1], term{kind: "route", label: "destination"}})
	}
	return found
}

func routeKey(text string, r [2]window) string {
	return strings.ToLower(text[r[0].start:r[0].end] + "\x00" + text[r[1].start:r[1].end])
}
