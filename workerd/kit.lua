-- kit: what templates share: the shapes of their inputs and outputs, texts and
-- documents cut to size, and reading a page twice. Runs in the confined state
-- of a template, whose program gets it as its second argument. It must not keep
-- anything between calls.
local json = ...

local kit = {}

local REST_MS = 5000

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
		ids = kit.boolean(false, "An id for each element."),
		rects = kit.boolean(false, "Where each element is: left, "
			.. "top, width, height."),
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

function kit.consent_in()
	return { type = "string", enum = { "leave", "refuse", "accept" },
		default = "leave", description = "What to do with a banner "
		.. "that asks about cookies: leave it, or answer it by a "
		.. "click; refuse also looks behind its settings." }
end

function kit.navigation_timeout(description)
	return kit.integer(1000, 120000, 30000, description
		or "Time a page has to load, in milliseconds; if it did not, "
		.. "it is tried once more for at most 10000.")
end

function kit.settle()
	return { anyOf = { { enum = { "network", "text" } },
			{ type = "integer", minimum = 1, maximum = 20000 } },
		description = "For pages whose data comes late: before a page "
		.. "is read, wait until nothing is requested (network) or the "
		.. "text changes no more (text) for a second, at most 10 s, or "
		.. "so many milliseconds." }
end

-- The outputs that templates share.
function kit.pending_out()
	local n = function(description)
		return { type = "integer", minimum = 1,
			description = description }
	end

	return { type = "object", properties = {
		requests = n("Requests of its scripts without an answer."),
		timers = n("Timers due within 5 s or repeated; seen by "
			.. "templates that only read."),
		connections = n("WebSockets and event streams; likewise."),
		refreshMs = n("It says that it loads a document then."),
	}, description = "What the page still waited for when it was read; "
		.. "absent: nothing. See settle." }
end

-- prelude.lua reads it, and the next.
function kit.device()
	local side = { type = "integer", minimum = 200, maximum = 4000,
		description = "In pixels." }

	return { type = "object", additionalProperties = false,
		properties = {
			window = { type = "object",
				additionalProperties = false,
				required = { "width", "height" }, properties = {
					width = side, height = side },
				description = "Its size; 1280 by 800 if not "
				.. "given." },
			userAgent = { type = "string", minLength = 1,
				maxLength = 512, pattern = "^[ -~]+$",
				description = "What the browser says it is." },
			locale = { type = "string", maxLength = 35,
				pattern = "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$",
				description = "Language of the reader, for "
				.. "example de-DE." },
			timezone = { type = "string", maxLength = 64,
				pattern = "^[A-Za-z0-9_+/-]+$",
				description = "For example Europe/Berlin." },
		}, description = "The window, language and user agent that "
			.. "pages see." }
end

function kit.dialogs()
	return { type = "string", enum = { "dismiss", "accept" },
		default = "dismiss", description = "How the questions of a "
		.. "page (confirm, prompt) are answered." }
end

-- The outputs that templates share.
function kit.dialogs_out()
	return { type = "array", items = { type = "object",
		required = { "type", "message", "answer" }, properties = {
			type = { type = "string", description = "alert, "
				.. "confirm, prompt or beforeunload." },
			message = { type = "string",
				description = "What it said." },
			answer = { type = "string", description = "accepted or "
				.. "dismissed." },
		} }, description = "The dialogs that pages opened, the first "
		.. "20, if there were any." }
end

function kit.page_out(description)
	return { type = "object", required = { "url", "title" },
		properties = {
			url = { type = "string",
				description = "The page's address." },
			title = { type = "string",
				description = "The page's title." },
		}, description = description }
end

function kit.consent_out()
	return { type = "object", required = { "answer", "button" },
		properties = {
			answer = { type = "string",
				enum = { "refused", "accepted" },
				description = "How it was answered." },
			button = { type = "string",
				description = "What the button says." },
		}, description = "A banner about cookies that was answered." }
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
-- lists and texts are shorter, with truncated, and true.
function kit.fit(view, max)
	if view == nil or #view:text() <= max then
		return view, false
	end
	local value = view:get()
	local cut = type(value) == "table"

	while cut and #json.encode(value) > max do
		value, cut = halve(value)
		value.truncated = true
	end
	return value, true
end

-- pageInfo and content of an extract, for a result that has max bytes for them;
-- whether one is shorter there.
function kit.fit_extract(doc, max)
	local info, less_info = kit.fit(doc:at("pageInfo"), max // 2)
	local content, less_content = kit.fit(doc:at("content"), max // 2)

	return info, content, less_info or less_content
end

-- ---- pages ----

-- What a function of a tab returned; its error, if it did not, is raised.
function kit.must(value, err)
	if value == nil then
		error(err, 0)
	end
	return value
end

local NOT_FOUND = { ELEMENT_NOT_FOUND = true, TPL_LOGIN_FIELD_NOT_FOUND = true }

local function picture_failure(ctx, tab, err)
	if not tab or type(err) ~= "table" or not NOT_FOUND[err.code] then
		return
	end
	local picture = tab:screenshot {}
	if picture then
		ctx:artifact { kind = "screenshot", mime = "image/png",
			name = "not-found.png", data = picture }
	end
end

-- A function that runs steps by name and counts them as the run's progress; one
-- whose second value is false was tried, but is not done. Of a page on which
-- something was not found there is a picture.
function kit.stepper(ctx, total, tab)
	local done = 0

	ctx:progress { done = 0, total = total }
	return function(name, fn)
		local first, second = ctx:step(name, function()
			local ok, meta, more = pcall(fn)
			if not ok then
				picture_failure(ctx, tab, meta)
				error(meta, 0)
			end
			return meta, more
		end)
		done = done + (second == false and 0 or 1)
		ctx:progress { done = done, total = total, message = name }
		return first, second
	end
end

-- Tries once more, in a fresh tab, when the page hung or crashed. A page that
-- had all its time once gets less of it: few come then, and its caller waits.
local AGAIN_MS = 10000

local function again(tab, err, timeout, try)
	local late = err.code == "NAVIGATION_TIMEOUT"

	tab:fresh()
	local nav, second = try(late and math.min(timeout or AGAIN_MS, AGAIN_MS)
		or timeout)
	-- Of two that are late the first one tells of all the time.
	if second and late and second.code == err.code then
		return nav, err, second.needsFresh
	end
	return nav, second, second and second.needsFresh
end

-- With ctx among the options a banner is answered, see kit.consent().
function kit.read(tab, url, extract, options)
	local function try(timeout)
		local nav, err = tab:read(url, extract, { timeoutMs = timeout,
			settle = options.settle })
		local done = nav and nav.doc and options.ctx
			and kit.consent(options.ctx, tab)
		if done then
			nav.consent = done
			nav.doc, err = tab:extract(extract)
		end
		return nav, err
	end
	local nav, err = try(options.timeoutMs)
	local spoilt

	if not err or not err.needsFresh then
		return nav, err, 1
	end
	nav, err, spoilt = again(tab, err, options.timeoutMs, try)
	if spoilt then
		tab:fresh()
	end
	return nav, err, 2
end

-- Loads the address, twice if need be, or raises.
function kit.open(tab, url, timeout)
	local function try(ms)
		return tab:navigate(url, { timeoutMs = ms })
	end
	local nav, err = try(timeout)

	if err and err.needsFresh then
		nav, err = again(tab, err, timeout, try)
	end
	return kit.must(nav, err)
end

local BANNER_MS = 1500 -- for one that a program will draw
local ANSWERED = { refuse = "refused", accept = "accepted" }

-- Finds a banner or a button of one, and clicks on it where press is true; what
-- it is called, or nil.
local function consent_part(tab, part, press, ms)
	local target = { mode = "consent", answer = part }
	local found = tab:find(target, { timeoutMs = ms })
	return found and (not press
		or tab:click(target, { timeoutMs = BANNER_MS })) and found.name
end

-- Answers a banner about cookies on the tab's page as the inputs say; what was
-- done, or nil. A banner that cannot be answered so is warned of. Some have a
-- button to refuse behind their settings only, or one that saves these.
function kit.consent(ctx, tab)
	local how = ctx.inputs.consent or "leave"

	if how == "leave" or not (consent_part(tab, "banner")
			or (consent_part(tab, "coming")
			and consent_part(tab, "banner", false, BANNER_MS))) then
		return nil
	end
	local button = consent_part(tab, how, true)
		or (how == "refuse" and consent_part(tab, "settings", true)
			and (consent_part(tab, "refuse", true, BANNER_MS)
			or consent_part(tab, "save", true)))
	if not button then
		ctx:warn("a banner about cookies has no button to " .. how
			.. ": " .. kit.cut(kit.must(tab:info()).url, 200))
		return nil
	end
	return { answer = ANSWERED[how], button = kit.cut(button, 120) }
end

-- A locator for tabs: what the caller gave, or what an element of that kind is
-- called when nothing is given.
function kit.target(given, kind, query)
	given = given or { mode = "semantic", query = query }
	return { mode = given.mode, selector = given.selector,
		query = given.query, kind = kind }
end

-- What the page says about what was sent to it, see page/signs.js. Another
-- document may come in between: that one is asked, then.
function kit.signs(tab, options)
	local said, err = tab:signs(options)
	if said == nil then
		tab:wait_stable(REST_MS)
		said, err = tab:signs { document = options.document,
			login = options.login, known = options.known }
	end
	return kit.must(said, err)
end

-- The HTTP status of a document that came since, if it tells of an error.
function kit.bad_status(now, before)
	if now.document ~= before.document and now.status >= 400 then
		return now.status
	end
	return nil
end

-- The outputs of templates that send something.
function kit.messages_out()
	return { type = "array", items = { type = "string" },
		description = "What the page says is wrong, in its own words." }
end

function kit.status_out()
	return { type = "integer", description = "HTTP status of the page it "
		.. "ended on, where that is an error." }
end

-- Waits until the page is there to be read, where its data comes late; for what
-- it waits itself then.
function kit.rest(tab, settle)
	return kit.must(tab:wait_stable { settle = settle,
		stableTimeoutMs = not settle and 1 or nil }).pending
end

-- What is left to say of a page at the end: address and title, its extract for
-- the result, and what it waits for. Stores the extract whole as an artifact.
function kit.finish(ctx, tab, inputs)
	local extract = inputs.extract or {}
	local pending = kit.rest(tab, inputs.settle)
	local doc = kit.must(tab:extract(extract))
	local info = kit.must(tab:info())
	local more = extract.maxElements or extract.maxContentLength
	local page = { url = kit.cut(info.url, 2048),
		title = kit.cut(info.title, 1024) }

	ctx:artifact { kind = "extraction", mime = "application/json",
		name = "extraction.json", data = { url = info.url,
			title = info.title, pageInfo = doc:at("pageInfo"),
			content = doc:at("content"), pending = pending } }
	local page_info, content = kit.fit_extract(doc,
		more and 200000 or 20000)
	return page, page_info, content, pending
end

return kit
