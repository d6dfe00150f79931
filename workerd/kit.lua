-- kit: what templates share: the shapes of their inputs and outputs, texts and
-- documents cut to size, and reading a page twice. Runs in the confined state
-- of a template, whose program gets it as its second argument. It must not keep
-- anything between calls.
local json = ...

local kit = {}

-- ---- schemas ----

function kit.integer(min, max, default, description)
	return { type = "integer", minimum = min, maximum = max,
		default = default, description = description }
end

function kit.boolean(default, description)
	return { type = "boolean", default = default,
		description = description }
end

function kit.text(min, max, description)
	return { type = "string", minLength = min, maxLength = max,
		description = description }
end

function kit.nullable(name, description)
	return { type = { name, "null" }, description = description }
end

function kit.object(properties, required, description)
	return { type = "object", additionalProperties = false,
		properties = properties, required = required,
		description = description }
end

function kit.url(description)
	return kit.text(1, 2048, description)
end

-- What to extract of a page; more is what only one template knows.
function kit.extract(more)
	local properties = {
		pageInfo = kit.boolean(true, "Type, elements, counts."),
		content = kit.boolean(true,
			"Sections, links, images, metadata."),
		maxElements = kit.integer(1, 1000, 50,
			"Elements of one page."),
		maxContentLength = kit.integer(1, 50000, 4000,
			"Characters of one page."),
	}
	for name, schema in pairs(more or {}) do
		properties[name] = schema
	end
	return kit.object(properties, nil, "What to extract of each page.")
end

-- Where an element is: by a CSS selector, or by what people call it.
function kit.locator(description)
	return {
		type = "object",
		additionalProperties = false,
		required = { "mode" },
		properties = {
			mode = { type = "string",
				enum = { "selector", "semantic" },
				description = "How the element is found." },
			selector = kit.text(1, 1024,
				"A CSS selector, with mode selector."),
			query = kit.text(1, 256, "What people call it: its "
				.. "label, name or text, in any language; "
				.. "with mode semantic."),
		},
		["if"] = { properties = { mode = { const = "selector" } } },
		["then"] = { required = { "selector" } },
		["else"] = { required = { "query" } },
		description = description,
	}
end

function kit.condition(description)
	return {
		type = "object",
		additionalProperties = false,
		required = { "type" },
		properties = {
			type = { type = "string", enum = { "selector",
				"urlContains", "textIncludes", "stable" },
				description = "What to wait for: an element, "
				.. "a part of the address, a text, or that "
				.. "the page keeps still." },
			value = kit.text(1, 1024, "The CSS selector, the part "
				.. "of the address or the text; not with "
				.. "stable."),
			timeoutMs = kit.integer(1, 120000, 10000,
				"How long to wait, in milliseconds."),
		},
		["if"] = { properties = { type = { const = "stable" } } },
		["else"] = { required = { "value" } },
		description = description,
	}
end

function kit.navigation_timeout(description)
	return kit.integer(1000, 120000, 30000, description
		or "Time a page has to load, in milliseconds.")
end

-- The outputs that templates share.
function kit.page_out(description)
	return { type = "object", required = { "url", "title" },
		properties = {
			url = { type = "string",
				description = "The page's address." },
			title = { type = "string",
				description = "The page's title." },
		}, description = description }
end

function kit.summary_out(what)
	local n = function(description)
		return { type = "integer", minimum = 0,
			description = description }
	end

	return { type = "object",
		required = { "total", "succeeded", "failed" },
		properties = {
			total = n("How many " .. what .. " there were."),
			succeeded = n("How many were read."),
			failed = n("How many were not."),
		}, description = "How it went, in numbers." }
end

function kit.error_out()
	return { type = "object", required = { "errorCode", "message" },
		properties = {
			errorCode = { type = "string",
				description = "One of the error codes." },
			message = { type = "string",
				description = "What went wrong, in words." },
			cause = { type = "string",
				description = "A finer code, if there is one." },
		}, description = "Why it failed." }
end

function kit.extract_out()
	return { type = "object",
		description = "What the page is; shortened if it is long, "
		.. "then truncated is true." },
	    { type = "object",
		description = "What the page says; shortened if it is long, "
		.. "then truncated is true." }
end

-- ---- values ----

-- The text, or as much of it as max bytes hold without cutting a character.
function kit.cut(text, max)
	if type(text) ~= "string" or #text <= max then
		return text
	end
	local last = max
	while last > 0 and (text:byte(last + 1) & 0xc0) == 0x80 do
		last = last - 1
	end
	return text:sub(1, last)
end

-- An error of a tab as results tell it.
function kit.error(err)
	return { errorCode = err.code, cause = err.cause,
		message = kit.cut(err.message, 1024) }
end

-- A part of an address is another address.
local WHOLE = { url = true, href = true, src = true }

local function halve(value)
	local cut = false

	if type(value) == "string" and #value > 200 then
		return kit.cut(value, #value // 2), true
	elseif type(value) ~= "table" then
		return value, false
	end
	for i = #value, #value // 2 + 1, -1 do
		if i > 1 then
			value[i] = nil
			cut = true
		end
	end
	for key, member in pairs(value) do
		local less, was_cut = halve(member)

		if was_cut and not WHOLE[key] then
			value[key] = less
			cut = true
		end
	end
	return value, cut
end

-- A part of an extract as it is if its JSON fits max bytes; else a copy whose
-- lists and texts are shorter, with truncated.
function kit.fit(view, max)
	if view == nil or #view:text() <= max then
		return view
	end
	local value = view:get()
	local cut = type(value) == "table"

	while cut and #json.encode(value) > max do
		value, cut = halve(value)
		value.truncated = true
	end
	return value
end

-- pageInfo and content of an extract, for a result that has max bytes for them.
function kit.fit_extract(doc, max)
	local info, content = doc:at("pageInfo"), doc:at("content")

	return kit.fit(info, max // 2), kit.fit(content, max // 2)
end

-- ---- pages ----

-- What a function of a tab returned; its error, if it did not, is raised.
function kit.must(value, err)
	if value == nil then
		error(err, 0)
	end
	return value
end

-- A function that runs steps by name and counts them as the run's progress.
function kit.stepper(ctx, total)
	local done = 0

	ctx:progress { done = 0, total = total }
	return function(name, fn)
		local first, second = ctx:step(name, fn)
		done = done + 1
		ctx:progress { done = done, total = total, message = name }
		return first, second
	end
end

-- Once more, in a fresh tab, when the page hung or crashed.
function kit.read(tab, url, extract, options)
	local nav, err = tab:read(url, extract, options)
	if not err or not err.needsFresh then
		return nav, err, 1
	end
	tab:fresh()
	nav, err = tab:read(url, extract, options)
	if err and err.needsFresh then
		tab:fresh()
	end
	return nav, err, 2
end

-- Loads the address, twice if need be, or raises.
function kit.open(tab, url, timeout)
	local nav, err = tab:navigate(url, { timeoutMs = timeout })
	if err and err.needsFresh then
		tab:fresh()
		nav, err = tab:navigate(url, { timeoutMs = timeout })
	end
	return kit.must(nav, err)
end

-- A locator for tabs: what the caller gave, or what an element of that kind is
-- called when nothing is given.
function kit.target(given, kind, query)
	given = given or { mode = "semantic", query = query }
	return { mode = given.mode, selector = given.selector,
		query = given.query, kind = kind }
end

-- What is left to say of a page at the end: address and title, and its extract
-- for the result. Stores the extract whole as an artifact.
function kit.finish(ctx, tab, extract)
	extract = extract or {}
	local doc = kit.must(tab:extract(extract))
	local info = kit.must(tab:info())
	local more = extract.maxElements or extract.maxContentLength
	local page = { url = kit.cut(info.url, 2048),
		title = kit.cut(info.title, 1024) }

	ctx:artifact { kind = "extraction", mime = "application/json",
		name = "extraction.json", data = { url = info.url,
			title = info.title, pageInfo = doc:at("pageInfo"),
			content = doc:at("content") } }
	return page, kit.fit_extract(doc, more and 200000 or 20000)
end

return kit
