#!/usr/bin/perl
# browsertaskctl against a service of canned answers: what it sends, what it
# prints, and how it exits.
use strict;
use warnings;
use File::Temp qw(tempdir);
use IPC::Open3;
use POSIX ();
use Symbol qw(gensym);
use Test::More;

my $build = $ENV{builddir} // '.';
my $ctl = "$build/ctl/browsertaskctl";
my $dir = tempdir('ctlXXXXXX', TMPDIR => 1, CLEANUP => 1);
$ENV{BROWSERTASK_SOCKET} = "$dir/s";
$ENV{TZ} = 'UTC';
$ENV{LC_ALL} = 'C.UTF-8';
delete @ENV{qw(NO_COLOR XDG_RUNTIME_DIR)};

sub slurp { open my $f, '<', shift or return ''; local $/; return <$f> // '' }
sub spew { open my $f, '>', shift or die; print $f @_; close $f or die }

# Runs it; returns exit status, standard output, standard error.
sub ctl {
	my $in = "$dir/in";
	my $pid = fork // die;
	if (!$pid) {
		open STDIN, '<', -e $in ? $in : '/dev/null' or die;
		open STDOUT, '>', "$dir/out" or die;
		open STDERR, '>', "$dir/err" or die;
		exec $ctl, @_ or die;
	}
	waitpid $pid, 0;
	unlink $in;
	return ($? & 127 ? -1 : $? >> 8, slurp("$dir/out"), slurp("$dir/err"));
}

my ($rc, $out, $err) = ctl('status');
is $rc, 3, 'no service: exit status 3';
like $err, qr/^browsertaskctl: no service answers .*\nhint: start browsertaskd/,
    'says so, and the next step';

my $service = open(my $ready, '-|', "$build/t/scenario/ctl_service",
    "$dir/s", $dir) or die;
is scalar <$ready>, "ready\n", 'the service listens';

# a result that is no list of items
($rc, $out) = ctl('result', 'run_S');
is $rc, 0, 'a result of another shape';
like $out, qr/^success +true$/m, '... its values';
unlike $out, qr/sessionId|null/, '... that are there';
like $out, qr{^finalPage\.url +http://a/$}m, '... those of its objects';
like $out, qr/^finalPage\.title +red \[31malert$/m, '... nothing of a terminal';
like $out, qr/^terms +a, b$/m, '... a list';
like $out, qr/^pageInfo\.elements +1, not shown$/m, '... what is too much';
like $out, qr/^pageInfo\.counts\.link +1, not shown$/m, '... or too deep';
like $out, qr{^pages:\npage\.url +n\s*\nhttp://a/1 +1\s*\n- +2\s*$}m,
    '... a table';

# usage
for my $bad (['frobnicate'], [], ['runs', '--bogus'], ['runs', '--key', 'x'],
    ['show'], ['show', 'a', 'b'], ['runs', '-n', '0'], ['runs', '-n', '12x'],
    ['submit', 't', 'nonsense'], ['submit', 't', 'a:={'],
    ['submit', 't', '-t', '5y'], ['submit', 't', '-t', '11m'],
    ['submit', 't', '-m', 'never'], ['submit', 't', '@/nonexistent'],
    ['artifact', 'put', 'x'], ['show', 'x' x 100]) {
	($rc, $out, $err) = ctl(@$bad);
	is $rc, 2, "usage: '@$bad'";
	like $err, qr/^hint: ./m, '... and the next step is named';
	unlike $err, qr/^(?!browsertaskctl: |hint: )/m, '... nobody else speaks';
}
($rc, $out) = ctl('--help');
is $rc, 0, '--help';
like $out, qr/^\s+5\s+the run succeeded in part/m, '... has the exit statuses';
($rc, $out) = ctl('submit', '--help');
like $out, qr/--key KEY/, 'help of a command';
($rc, $out) = ctl('--version');
like $out, qr/^browsertaskctl \d/, '--version';

# submit: what reaches the service
sub sent {
	my ($want, $name, @args) = @_;
	($rc, $out, $err) = ctl('submit', 'batch_extract_pages', @args);
	is $rc, 0, $name;
	is slurp("$dir/inputs"), $want, '... inputs';
}
spew("$dir/urls", "http://a/\n\nhttp://b/\r\nhttp://c/");
spew("$dir/doc.json", '{"urls":["x"],"csv":false}');
sent '{"urls":["http://a/"]}', 'a word becomes an array as the schema says',
    'urls=http://a/';
is $out, "run_A\n", 'nothing but the id where no person looks';
like $err, qr/the key was used before/, 'a duplicate is mentioned';
sent '{"urls":["a","b"],"concurrency":5,"csv":true,"other":"7"}',
    'types by the schema, repeated keys', 'urls=a', 'concurrency=5', 'urls=b',
    'csv=true', 'other=7';
sent '{"urls":["http://a/","http://b/","http://c/"]}', 'lines of a file',
    "urls=\@$dir/urls";
sent '{"extract":{"content":false}}', 'raw JSON',
    'extract:={"content":false}';
sent '{"urls":["x"],"csv":false}', 'a document', "\@$dir/doc.json";
sent '{"csv":false,"urls":["y"]}', 'a document with a key replaced',
    "\@$dir/doc.json", 'urls=y';
spew("$dir/in", '{"urls":[]}');
sent '{"urls":[]}', 'a document from standard input', '-';
sent '{"a":"x\"=y"}', 'quotes and equal signs in a word', 'a=x"=y';
ctl('submit', 't', '--key', 'k1', '--timeout', '1.5m', '--mode', 'auto',
    '--priority', 'high');
is slurp("$dir/options"), '{"mode":"auto","timeoutMs":90000,'
    . '"idempotencyKey":"k1","priority":"high"}', 'options';
($rc, $out, $err) = ctl('submit', 'none');
is $rc, 4, 'an error answer: exit status 4';
is $err, "browsertaskctl: no such thing (TEMPLATE_NOT_FOUND)\n"
    . "hint: browsertaskctl templates lists the templates\n", '... and words';

# waiting
($rc, $out, $err) = ctl('submit', 'batch_extract_pages', 'urls=a', '--wait');
is $rc, 0, 'submit --wait';
like $err, qr{^ 1/3  \x{e4}\x{bd}\x{a0}  http://a/$}m, 'a line per item';
like $err, qr{^ 2/3  it crashed: http://b/$}m, '... and per failure';
unlike $err, qr/\x1b|\r/, 'no escapes where no terminal is';
like $out, qr/^#?\s*#\s+TITLE\s+TYPE\s+STATUS\s+ELEMENTS\s+SECTIONS/,
    'the result is a table';
like $out, qr/^\d  red \[31malert\s+article\s+200\s+12\s+3\s+420 ms/m,
    "a page's escapes do not reach the output";
my ($cjk) = $out =~ /^1  (.*?article)/m;
my ($latin) = $out =~ /^2  (.*?article)/m;
is length($cjk) - 6 + 4, length $latin,
    'wide characters take two columns: the table is aligned';
like $out, qr/^3 in all, 2 succeeded, 1 failed, in 1\.5 s \(2\.0 a second\)$/m,
    'and has totals';
unlike $out, qr/shortened/, '... of all';
like +(ctl('wait', 'run_C'))[1],
    qr/^30 in all, 2 succeeded, 1 failed, 27 not begun, in 1\.5 s \(2\.0 a second\)\n(?!the table)/m,
    '... of a run that was canceled, those that were done';
like +(ctl('wait', 'run_T'))[1], qr/^3 in all, .*\n\Qthe table is shortened;\E/m,
    '... and whether items are left out';
($rc) = ctl('wait', 'run_P');
is $rc, 5, 'partial success: exit status 5';
($rc, $out, $err) = ctl('wait', 'run_F');
is $rc, 1, 'a failed run: exit status 1';
like $err, qr/the run failed: no such thing \(RUN_TIMEOUT\)\nhint: Look/,
    '... says why';
($rc) = ctl('wait', 'run_X');
is $rc, 4, 'an unknown run: exit status 4';
($rc, $out, $err) = ctl('wait', 'run_L');
is $rc, 0, 'waiting outlives a lost connection';
like $err, qr/waiting for it to return/, '... and says so';
is scalar(() = $err =~ /^ 1\/3/mg), 1, '... events are not told twice';

# an interrupt
{
	my $fd = gensym;
	my $pid = open3('</dev/null', my $o, $fd, $ctl, 'wait', 'run_R');
	while (<$fd>) { last if m{1/3} }
	kill INT => $pid;
	my $rest = do { local $/; <$fd> };
	waitpid $pid, 0;
	is $? >> 8, 130, 'an interrupt ends the waiting';
	like $rest, qr/run_R goes on\nhint: .*cancel run_R ends it/,
	    '... and says how to cancel';
}

# reading
($rc, $out, $err) = ctl('runs');
is $rc, 0, 'runs';
like $out, qr/^RUN\s+TEMPLATE\s+STATUS\s+DONE\s+CREATED\s+TIME\n
    run_R\s+batch_extract_pages\s+running\s+1\/3\s+2025-11-21\s22:00:00/x,
    '... in a table';
like $err, qr/2 of 7 runs/, '... with what is left out';
($rc, $out) = ctl('--json', 'runs');
like $out, qr/^\{\n  "runs": \[/, '--json is the answer, laid out';
($rc, $out) = ctl('show', 'last');
like $out, qr/^run +run_R\ntemplate +batch/, 'show last';
($rc, $out) = ctl('status');
like $out, qr{^browsertaskd 9\.9\.9  serving\nsocket +\Q$dir\E/s, trust local\n},
    'status';
like $out, qr/^load +0 active of 5/m, '... load';
like $out, qr/^runs +0 queued, 1 running$/m, '... counts';
($rc, $out) = ctl('profile');
like $out, qr/^runTtlMs +30 min$/m, 'profile';
($rc, $out) = ctl('events', 'run_A');
like $out, qr/^ +1  00:00:00.001  run_created +\n +2 .*run_completed +\{"x":1\}\n$/,
    'events, until there are no more';
($rc, $out) = ctl('events', 'run_A', '--json', '--follow', '--after', '0');
is scalar(() = $out =~ /^\{.*\}$/mg), 2, 'a JSON text per line';
($rc, $out) = ctl('cancel', 'run_R');
is $rc . $out, "0run_R canceled\n", 'cancel';
($rc, $out, $err) = ctl('cancel', 'run_A');
is $rc, 4, 'what has ended is not canceled';
like $err, qr/it has ended/, '... the reason';
($rc, $out) = ctl('templates');
like $out, qr/^batch_extract_pages +1\.0\.0 +Reads pages\.$/m, 'templates';
($rc, $out) = ctl('templates', 'batch_extract_pages');
like $out, qr/^urls +array, required +pages$/m, '... one, with its inputs';
is +(ctl('templates', 'x'))[0], 4, '... or none';

# results and artifacts
($rc, $out) = ctl('result', 'run_A', '--json');
like $out, qr/^\{\n  "summary": \{/, 'result --json';
is +(ctl('result', 'run_P', '-o', "$dir/r.json"))[0], 5, 'result -o';
like slurp("$dir/r.json"), qr/^\{\n  "summary"/, '... writes the file';
is +(ctl('result', 'run_R'))[0], 4, 'no result yet';
is +(ctl('result', 'run_F'))[0], 1, 'a failed run has none';
($rc, $out) = ctl('artifact', 'list', 'run_A');
like $out, qr/^art_T +extraction +application\/json +11 B +pages.json$/m,
    'artifact list';
($rc, $out) = ctl('artifact', 'get', 'art_T');
is $out, '{"a":"\n"}', 'artifact get joins the chunks';
($rc, $out) = ctl('artifact', 'get', 'run_A', '--kind', 'screenshot', '-o',
    "$dir/b");
is slurp("$dir/b"), "\0\xff\x1b[\n", 'a binary one, by run and kind';
ok !-e "$dir/b.part", '... nothing is left beside it';
($rc, $out, $err) = ctl('artifact', 'get', 'run_A');
is $rc, 4, 'which of two?';
is +(ctl('artifact', 'get', 'art_T', '-o', "$dir/no/such"))[0], 1,
    'a file that cannot be made';
is +(ctl('runs', '-s', "$dir/none"))[0], 3, 'another socket';

kill TERM => $service;
close $ready;
done_testing;
