package config

import (
	"fmt"
	"net"
	"strconv"

	"cairn/internal/domain/fault"
)

// ConsoleOn reports whether the web console is served.
func (c Config) ConsoleOn() bool { return c.Console != "off" }

// ConsoleAddress returns the address at which the web console is served apart from the API, empty if it is not.
func (c Config) ConsoleAddress() string {
	if c.Console == "on" || c.Console == "off" {
		return ""
	}
	return c.Console
}

func (c Config) checkConsole() error {
	address := c.ConsoleAddress()
	if address == "" && c.Console != "" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fault.New(fault.Misconfigured, fmt.Sprintf("invalid CAIRN_CONSOLE: %q", c.Console),
			"use on, off or an address such as 127.0.0.1:8081")
	}
	return nil
}
