#!/usr/bin/perl
# The adapter starts a service when there is none: one, however many adapters
# ask at once; it outlives them, ends when nobody needs it, and is started again
# with what it had. No page is opened.
use strict;
use warnings;
use BrowserTask::Harness;
use BrowserTask::Mcp;
use Cwd qw(abs_path);
use File::Path qw(remove_tree);
use File::Temp qw(tempdir);
use Test::More;

my $chromium = $ENV{CHROMIUM_DIR} // '/usr/lib/chromium';
plan skip_all => 'no Chromium is installed' unless grep { -x "$chromium/$_" }
    qw(chromium-headless-shell chromium);

my $build = abs_path($ENV{builddir} // '.');
my $dir = tempdir('mcpXXXXXX', TMPDIR => 1, CLEANUP => 0);
chmod 0755, $dir;
mkdir "$dir/lib" or die;
symlink "$build/$_/$_", "$dir/lib/$_" for qw(supervisord egressd workerd cell);
open my $conf, '>', "$dir/conf" or die;
close $conf;
my @uids = $> == 0
    ? ('-o', 'uidBase=' . (2000000000 + $$ % 32768 * 4096)) : ();

sub adapter {
	my (%opt) = @_;
	my $m = BrowserTask::Mcp->new(
		args => [ '-r', "$dir/run", '--service',
			$opt{service} // "$build/launcher/browsertaskd", '--',
			'-s', "$dir/state", '-P', "$dir/lib", '-f',
			"$dir/conf", '-o', 'warmCells=0', @uids,
			'-o', 'idleExitMs=' . ($opt{idle} // 3000) ],
		env => { XDG_STATE_HOME => "$dir/xdg",
			ASAN_OPTIONS => 'detect_leaks=0' });
	$m->init;
	return $m;
}

sub services {
	return grep { $_->{cmd} =~ m{^\S*/browsertaskd } && $_->{state} ne 'Z' }
	    tree();
}

# Many at once.
my @adapters = map { adapter() } 1 .. 8;
is scalar services(), 0, 'starting adapters starts no service';
my @calls = map { $_->call('get_runtime_profile') } @adapters;
my %pids;
for my $n (0 .. $#adapters) {
	my $a = $adapters[$n]->answer($calls[$n], 90)->{result};
	my $p = $a->{structuredContent};
	$p ? $pids{ $p->{pid} }++ : diag explain $a;
}
is scalar keys %pids, 1, 'eight that need one at once get the same';
is +(values %pids)[0], 8, '... all of them';
is scalar services(), 1, '... and no other is there';
my ($service) = services();
ok $service && $service->{ppid} != $adapters[0]{pid}, '... as nobody\'s child';
my $run = $adapters[0]->tool('run_task_template', {
	templateId => 'batch_extract_pages',
	inputs => { urls => ['http://127.0.0.1:9/'] },
	options => { mode => 'async' } })->{structuredContent}{runId};
like $run, qr/^run_/, 'a run';
ok -s "$dir/xdg/browsertaskd.log", 'its log is in a file';

# It ends with nobody there, and the next call starts it.
$_->kill for @adapters;
$_->wait for @adapters;
ok wait_until(60, sub { reap_all(); !services() }),
    'it ends some time after the last of them';
open my $log, '<', "$dir/xdg/browsertaskd.log" or die;
is scalar(grep { /serving, epoch/ } <$log>), 1, '... at once, and for good';
my $m = adapter(idle => 60000);
my $r = $m->tool('get_task_run', { runId => $run })->{structuredContent};
is $r->{runId}, $run, 'the next one has what the first one had';
like $r->{status}, qr/^(failed|canceled)$/, '... and it had ended first';

# The service is killed, launcher and all.
kill 'KILL', map { $_->{pid} } services();
wait_until(60, sub { reap_all(); !services() });
$r = $m->tool('get_task_run', { runId => $run });
is $r->{structuredContent}{runId}, $run, 'killed: the next call starts one'
    or diag explain $r;
$m->eof;
is $m->wait, 0, 'the adapter ends';
kill 'TERM', map { $_->{pid} } services();
ok wait_until(60, sub { reap_all(); !services() }), 'so does the service';

# What cannot be started is told.
for (
	[ '/nonexistent/browsertaskd', qr/No such file/ ],
	[ '/bin/false', qr/logged nothing/ ],
) {
	$m = adapter(service => $_->[0]);
	$r = $m->tool('get_runtime_profile');
	my $doc = $m->doc($r);
	ok $r->{isError} && $doc->{details}{cause} eq 'SERVICE_UNAVAILABLE',
	    "$_->[0] cannot be started";
	like $doc->{message}, $_->[1], '... and why';
	ok $m->tool('get_runtime_profile')->{isError}, '... also when asked again';
	$m->eof;
	$m->wait;
}
is left(60), '', 'nothing is left';
remove_tree($dir);
done_testing;

sub reap_all { 1 while waitpid(-1, POSIX::WNOHANG()) > 0 }
