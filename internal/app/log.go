package app

import "log/slog"

// Level reads a log level's name; an unknown one is warn.
func Level(name string) slog.Level {
	var l slog.Level
	if l.UnmarshalText([]byte(name)) != nil {
		return slog.LevelWarn
	}
	return l
}
